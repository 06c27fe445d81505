package template

import (
	"context"
	htmltemplate "html/template"

	"herald/internal/notification"
)

// DigestName is the event_type under which notification_template holds the words of
// digests.
const DigestName = "digest"

// Digest writes the text that lists the items of a digest, in their order, from the
// most specific template named digest among rows. The template may use .recipient,
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
	return newSet(rows).write(context.Background(), DigestName, channel, recipient, data)
}
