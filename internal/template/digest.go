package template

import (
	"context"
	htmltemplate "html/template"
	"strings"

	"herald/internal/notification"
)

// DigestName is the event_type under which notification_template holds the words of
// digests.
const DigestName = "digest"

// DigestType is the event_type of the words for digests of one event type, which come before
// those of [DigestName].
func DigestType(eventType string) string { return eventType + "." + DigestName }

// Digest writes the text that lists the items of a digest, in their order, from the
// most specific template of [DigestType], or else of [DigestName], among rows. The template may use .recipient,
// .event.type and .Items, each with title, body, event_id and created_at. A body
// that is HTML is not escaped again.
//
// Errors are like those of [Set.Render].
func Digest(rows []notification.Template, eventType string, channel notification.Channel, recipient notification.Recipient, items []notification.DigestItem) (notification.Text, error) {
	list := make([]map[string]any, len(items))
	for i, item := range items {
		list[i] = map[string]any{"title": item.Title, "body": item.Body, "event_id": item.EventID, "created_at": item.CreatedAt.UTC()}
		if channel.HTML() {
			list[i]["body"] = htmltemplate.HTML(item.Body) // it was escaped when it was planned
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

// ChosenDigest returns the row from which [Digest] writes; false: there is none.
func ChosenDigest(rows []notification.Template, eventType string, channel notification.Channel, locale string) (notification.Template, bool) {
	s := digestSet(eventType, rows)
	k, found := s.find(DigestName, string(channel), locale)
	return s.rows[k], found
}

// isDigest reports whether rows of an event type are words of digests.
func isDigest(eventType string) bool {
	return eventType == DigestName || strings.HasSuffix(eventType, "."+DigestName)
}
