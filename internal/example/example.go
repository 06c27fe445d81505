// Package example is a small world to try Herald on: a directory, its rules and
// texts, and events of which it is known how each of their deliveries must end.
package example

import (
	"bytes"
	"context"
	_ "embed" // the example
	"encoding/json"
	"fmt"

	"herald/internal/notification"
	"herald/internal/postgres"
)

//go:embed directory.sql
var directorySQL string

//go:embed rules.sql
var rulesSQL string

//go:embed templates.sql
var templatesSQL string

//go:embed events.json
var eventsJSON []byte

// Seed loads the directory, the rules and the templates, all or nothing. Those
// that are there already become again as they were: confirm is told how many rows
// of which tables are others than they were, and its error leaves all as it is.
// slackURL, scheme and host, is where the example's Slack webhooks are.
func Seed(ctx context.Context, db *postgres.Store, slackURL string, confirm func(ctx context.Context, changed map[string]int) error) error {
	scripts := []string{directorySQL, rulesSQL, templatesSQL}
	return db.RunScripts(ctx, scripts, map[string]string{"herald.slack_url": slackURL}, confirm)
}

// Overwrite confirms whatever it is told.
func Overwrite(context.Context, map[string]int) error { return nil }

// Event is an event of the example, and what must come of it.
type Event struct {
	Name          string          `json:"name"`
	Type          string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   string          `json:"aggregate_id"`
	CorrelationID string          `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload"`
	Expect        Expectation     `json:"expect"`
}

// Expectation is how an event must end.
type Expectation struct {
	Outcome    string                                   `json:"outcome"`
	Recipients map[string]map[notification.Channel]Fate `json:"recipients"` // by RESTAURANT_USER/10; nobody else is told
}

// What an event can come to, beside the outcomes of an event that reaches
// nobody.
const (
	Completed = "COMPLETED"
	Running   = "RUNNING" // a delivery waits for the end of quiet hours
)

// Events returns the events of the example.
func Events() ([]Event, error) { return ReadEvents(eventsJSON) }

// ReadEvents reads events that are written like those of the example.
func ReadEvents(source []byte) ([]Event, error) {
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields()
	var events []Event
	if err := decoder.Decode(&events); err != nil {
		return nil, fmt.Errorf("read example events: %w", err)
	}
	return events, nil
}

// ID is the event's id in a run of the example, of which there can be many.
func (e Event) ID(run string) string { return "demo-" + run + "-" + e.Name }

// InRun is the event as it is written in a run of the example.
func (e Event) InRun(run string) notification.Event {
	return notification.Event{
		ID: e.ID(run), Type: e.Type, AggregateType: e.AggregateType, AggregateID: e.AggregateID,
		Payload: e.Payload, CorrelationID: e.CorrelationID,
	}
}
