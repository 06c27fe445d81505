package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	htmltemplate "html/template"
	"strconv"
	"strings"

	"herald/internal/notification"
)

// eventData and recipientData are what a template may use. They hold no address, so
// that none gets into a text.
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

func decodePayload(payload json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, errors.New("the payload is not JSON") // the cause may quote it
	}
	return printable(value), nil
}

// printable makes a JSON value print as its producer wrote it, and behave in a
// template as one expects: null is empty rather than "<nil>", and whole numbers can
// be compared, and are false if they are 0. Other numbers become texts, which keep
// their digits (19.90).
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
