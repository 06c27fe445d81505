package template

import (
	"context"
	"encoding/json"
	htmltemplate "html/template"
	"maps"
	"strings"

	"herald/internal/mailtext"
	"herald/internal/notification"
)

// eventData and recipientData return the data for templates. They contain no address, so that no
// text can show one.
func eventData(e notification.Event) map[string]any {
	return map[string]any{
		"id":             e.ID,
		"type":           e.Type,
		"aggregate_type": e.AggregateType,
		"aggregate_id":   e.AggregateID,
		"created_at":     e.CreatedAt.UTC(),
		"correlation_id": e.CorrelationID,
	}
}

func recipientData(r notification.Recipient) map[string]any {
	return map[string]any{
		"name":      r.Name,
		"user_id":   r.UserID,
		"user_type": string(r.UserType),
		"locale":    r.Locale,
	}
}

// printable converts a JSON value for templates. Null is empty, not "<nil>".
func printable(value any) any {
	switch v := value.(type) {
	case nil:
		return ""
	case json.Number:
		return newNumber(v)
	case map[string]any:
		for name := range v {
			v[name] = printable(v[name])
		}
	case []any:
		for i := range v {
			v[i] = printable(v[i])
		}
	}
	return value
}

// DigestName is the event_type of the digest templates in notification_template.
const DigestName = "digest"

// DigestType is the event_type of the digest templates for one event type. They precede the
// templates of [DigestName].
func DigestType(eventType string) string { return eventType + "." + DigestName }

// Digest writes the text of a digest, with its items in order. It uses the most specific
// template of [DigestType] in rows, or else of [DigestName]. The template may use .recipient,
// .event.type and .Items, each with title, body, event_id and created_at. A body with markup is not
// escaped again; a template for every channel gets its plain text.
//
// Errors are like those from [Set.Render].
func (e Engine) Digest(
	rows []notification.Template, eventType string, channel notification.Channel, recipient notification.Recipient,
	items []notification.DigestItem,
) (notification.Text, error) {
	s := e.digestSet(eventType, rows)
	k, _ := s.find(DigestName, string(channel), recipient.Locale)
	plain, marked := make([]map[string]any, len(items)), make([]map[string]any, len(items))
	for i, item := range items {
		plain[i] = map[string]any{
			"title": item.Title, "body": plainBody(channel, item.Body), "event_id": item.EventID, "created_at": item.CreatedAt.UTC(),
		}
		marked[i] = maps.Clone(plain[i])
		if k.channel != anything {
			marked[i]["body"] = markedBody(channel, item.Body)
		}
	}
	event := map[string]any{"type": eventType}
	data := dataOf{
		line: map[string]any{"event": event, "Items": plain}, body: map[string]any{"event": event, "Items": marked}, eventType: eventType,
	}
	return s.write(context.Background(), DigestName, channel, recipient, data)
}

// markedBody returns an item's body, which planning escaped, as markup.
func markedBody(channel notification.Channel, body string) any {
	switch channel.Markup() {
	case notification.HTML:
		return htmltemplate.HTML(body)
	case notification.Mrkdwn:
		return mrkdwnText(body)
	default:
		return body
	}
}

// plainBody returns an item's body without its markup.
func plainBody(channel notification.Channel, body string) string {
	switch channel.Markup() {
	case notification.HTML:
		return mailtext.Plain("", body)
	case notification.Mrkdwn:
		return withoutMrkdwn(body)
	default:
		return body
	}
}

func (e Engine) digestSet(eventType string, rows []notification.Template) *Set {
	s := e.newSet(rows)
	s.before = DigestType(eventType)
	return s
}

// ChosenDigest returns the row that [Digest] uses; false: there is none.
func ChosenDigest(
	rows []notification.Template, eventType string, channel notification.Channel, locale string,
) (notification.Template, bool) {
	s := Engine{}.digestSet(eventType, rows)
	k, found := s.find(DigestName, string(channel), locale)
	return s.rows[k], found
}

// isDigest reports whether an event_type belongs to digest templates.
func isDigest(eventType string) bool {
	return eventType == DigestName || strings.HasSuffix(eventType, "."+DigestName)
}
