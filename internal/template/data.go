package template

import (
	"context"
	"encoding/json"
	htmltemplate "html/template"
	"strconv"
	"strings"

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

// printable converts a JSON value for templates. It prints as its producer wrote it. Null is
// empty, not "<nil>". Whole numbers can be compared, and 0 is false. Other numbers become texts,
// which keep their digits (19.90).
func printable(value any) any {
	switch v := value.(type) {
	case nil:
		return ""
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		return v.String()
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
// .event.type and .Items, each with title, body, event_id and created_at. An HTML body is not
// escaped again.
//
// Errors are like those from [Set.Render].
func Digest(rows []notification.Template, eventType string, channel notification.Channel, recipient notification.Recipient, items []notification.DigestItem) (notification.Text, error) {
	list := make([]map[string]any, len(items))
	for i, item := range items {
		list[i] = map[string]any{"title": item.Title, "body": item.Body, "event_id": item.EventID, "created_at": item.CreatedAt.UTC()}
		if channel.HTML() {
			list[i]["body"] = htmltemplate.HTML(item.Body) // planning escaped it
		}
	}
	data := map[string]any{"event": map[string]any{"type": eventType}, "Items": list}
	return digestSet(eventType, rows).write(context.Background(), DigestName, channel, recipient, data)
}

func digestSet(eventType string, rows []notification.Template) *Set {
	s := newSet(rows)
	s.before = DigestType(eventType)
	return s
}

// ChosenDigest returns the row that [Digest] uses; false: there is none.
func ChosenDigest(rows []notification.Template, eventType string, channel notification.Channel, locale string) (notification.Template, bool) {
	s := digestSet(eventType, rows)
	k, found := s.find(DigestName, string(channel), locale)
	return s.rows[k], found
}

// isDigest reports whether an event_type belongs to digest templates.
func isDigest(eventType string) bool {
	return eventType == DigestName || strings.HasSuffix(eventType, "."+DigestName)
}
