package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"herald/internal/example"
)

// TopicResult is what became of a row of a service's outbox.
type TopicResult struct {
	Outbox    string `json:"outbox"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Mark      string `json:"mark"` // in its own table
	Topic     string `json:"topic"`
	Read      string `json:"read"` // what the topic has of it
}

// judgeTopics compares the topics with the tables of the services.
func (d *Demo) judgeTopics(ctx context.Context, result *Result, began time.Time) error {
	rows, err := d.Services.rows(ctx, d.Explainer.Store, d.Run)
	if err != nil {
		return err
	}
	messages, err := d.Services.readTopics(ctx, began)
	if err != nil {
		return err
	}
	topics, deviations := compareTopics(rows, messages)
	result.Topics = topics
	result.Deviations = append(result.Deviations, deviations...)
	return nil
}

// readTopics reads what came to the topics of the services from a time on.
func (s *Services) readTopics(ctx context.Context, from time.Time) ([]message, error) {
	var all []message
	for _, topic := range example.Topics() {
		messages, err := s.Kcat.since(ctx, topic, from)
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	return all, nil
}

// compareTopics compares what the topics have with what the tables hold.
func compareTopics(rows []serviceRow, messages []message) (results []TopicResult, deviations []string) {
	for _, row := range rows {
		differs := row.differences(messages)
		results = append(results, TopicResult{
			Outbox: row.Outbox, EventID: row.EventID, EventType: row.EventType, Mark: row.Mark, Topic: row.Topic, Read: row.read(differs),
		})
		if !row.Sent {
			deviations = append(deviations, fmt.Sprintf("%s: its row in %s is %s", row.EventID, row.Outbox, row.Mark))
		}
		for _, what := range differs {
			deviations = append(deviations, fmt.Sprintf("%s: %s in %s", row.EventID, what, row.Topic))
		}
	}
	return results, deviations
}

// differences says where its topic does not have what the table holds. A row may come
// twice, as Herald promises: then each of the messages must be right.
func (r serviceRow) differences(messages []message) []string {
	found := false
	var differs []string
	for _, m := range messages {
		if m.Topic != r.Topic || m.header("event_id") != r.EventID {
			continue
		}
		found = true
		differs = append(differs, r.differencesOf(m)...)
	}
	if !found {
		return []string{"no message"}
	}
	return differs
}

func (r serviceRow) differencesOf(m message) (differs []string) {
	for _, part := range []struct {
		name string
		same bool
	}{
		{"another key", equal(m.Key, r.Key)},
		{"another payload", equal(m.Payload, &r.Payload)},
		{"another header event_type", m.header("event_type") == r.EventType},
		{"another header correlation_id", m.header("correlation_id") == r.CorrelationID},
	} {
		if !part.same {
			differs = append(differs, part.name)
		}
	}
	return differs
}

func equal(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// read says what its topic has of the row.
func (r serviceRow) read(differs []string) string {
	switch {
	case len(differs) > 0:
		return strings.Join(differs, ", ")
	case r.Key == nil:
		return fmt.Sprintf("no key, its headers and %d bytes", len(r.Payload))
	default:
		return fmt.Sprintf("its key, headers and %d bytes", len(r.Payload))
	}
}
