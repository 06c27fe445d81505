package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

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
