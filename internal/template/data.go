package template

import (
	"context"
	"encoding/json"
	htmltemplate "html/template"
	"maps"
	"strings"

	"herald/internal/mailtext"
	"herald/internal/notification"
	"herald/internal/reason"
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
// .event.type, .reason, .mute_url, .preferences_url and .Items, each with title, body, event_id,
// created_at, reason and mute_url. If all items have the same entity, the digest has their reason. A body with markup is not
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
	recipient = sharedEntity(recipient, items)
	for i, item := range items {
		plain[i] = map[string]any{
			"title": item.Title, "body": plainBody(channel, item.Body), "event_id": item.EventID, "created_at": item.CreatedAt.UTC(),
		}
		maps.Copy(plain[i], e.reasonData(channel, recipient, whyItem(item)))
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

// reasonNames are the fields that say why a recipient gets a text, and that link to where they change it.
var reasonNames = []string{"reason", "mute_url", "preferences_url"}

// reasonData returns the fields of reasonNames. A link is empty if there is nothing to change.
func (e Engine) reasonData(channel notification.Channel, recipient notification.Recipient, why reason.Why) map[string]any {
	data := map[string]any{"reason": why.Sentence(recipient.Locale), "mute_url": "", "preferences_url": ""}
	who := notification.RecipientKey{UserType: recipient.UserType, UserID: recipient.UserID}
	if e.MuteURL != nil && why.Entity.CanBeMutedBy(who) {
		data["mute_url"] = e.MuteURL(channel, recipient, why.Entity)
	}
	if e.PreferencesURL != nil {
		data["preferences_url"] = e.PreferencesURL(channel, recipient)
	}
	return data
}

func whyItem(item notification.DigestItem) reason.Why {
	return reason.Why{Entity: item.Entity, EntityName: item.EntityName, MemberRole: item.MemberRole}
}

// sharedEntity returns the recipient of a digest with the entity of its items, and with the role; without
// them if they differ.
func sharedEntity(r notification.Recipient, items []notification.DigestItem) notification.Recipient {
	var why reason.Why
	for i, item := range items {
		switch of := whyItem(item); {
		case i == 0:
			why = of
		case of.Entity != why.Entity:
			why = reason.Why{}
		case of.MemberRole != why.MemberRole:
			why.MemberRole = ""
		}
	}
	r.Entity, r.EntityName, r.MemberRole = why.Entity, why.EntityName, why.MemberRole
	return r
}
