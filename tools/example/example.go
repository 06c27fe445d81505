// Package example holds the events of the demo with the expected result of each delivery, and
// two services with separate outboxes.
package example

import (
	"bytes"
	_ "embed" // the example
	"encoding/json"
	"fmt"

	"herald/outbox"
)

//go:embed events.json
var eventsJSON []byte

// ExpectedEvent is an event of the example and its expected results.
type ExpectedEvent struct {
	Name          string          `json:"name"`
	Row           string          `json:"row"` // end of its id, for a service whose ids have another format
	Type          string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   string          `json:"aggregate_id"`
	CorrelationID string          `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload"`
	Expect        Expectation     `json:"expect"`
}

// Events returns the events of the example.
func Events() ([]ExpectedEvent, error) { return ReadEvents(eventsJSON) }

// ReadEvents reads events in the format of the example's events.
func ReadEvents(source []byte) ([]ExpectedEvent, error) {
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields()
	var events []ExpectedEvent
	if err := decoder.Decode(&events); err != nil {
		return nil, fmt.Errorf("read example events: %w", err)
	}
	return events, nil
}

// ID returns the event's id in a run of the example.
func (e ExpectedEvent) ID(run string) string {
	if e.Row != "" {
		return run + "-" + e.Row
	}
	return "demo-" + run + "-" + e.Name
}

// InRun returns the event to write in a run of the example.
func (e ExpectedEvent) InRun(run string) outbox.Event {
	return outbox.Event{
		ID: e.ID(run), Type: e.Type, AggregateType: e.AggregateType, AggregateID: e.AggregateID,
		Payload: e.Payload, CorrelationID: e.CorrelationID,
	}
}
