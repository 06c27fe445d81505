// Package example holds the events of the demo with the result that each of their deliveries
// must have, and two services that have separate outboxes.
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

// ExpectedEvent is an event of the example, and what must come of it.
type ExpectedEvent struct {
	Name          string          `json:"name"`
	Row           string          `json:"row"` // how its id ends, where its service has separate ids
	Type          string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   string          `json:"aggregate_id"`
	CorrelationID string          `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload"`
	Expect        Expectation     `json:"expect"`
}

// Events returns the events of the example.
func Events() ([]ExpectedEvent, error) { return ReadEvents(eventsJSON) }

// ReadEvents reads events in the form of the example's events.
func ReadEvents(source []byte) ([]ExpectedEvent, error) {
	decoder := json.NewDecoder(bytes.NewReader(source))
	decoder.DisallowUnknownFields()
	var events []ExpectedEvent
	if err := decoder.Decode(&events); err != nil {
		return nil, fmt.Errorf("read example events: %w", err)
	}
	return events, nil
}

// ID is the event's id in one of many runs of the example.
func (e ExpectedEvent) ID(run string) string {
	if e.Row != "" {
		return run + "-" + e.Row
	}
	return "demo-" + run + "-" + e.Name
}

// InRun is the event as it is written in a run of the example.
func (e ExpectedEvent) InRun(run string) outbox.Event {
	return outbox.Event{
		ID: e.ID(run), Type: e.Type, AggregateType: e.AggregateType, AggregateID: e.AggregateID,
		Payload: e.Payload, CorrelationID: e.CorrelationID,
	}
}
