package notification

import (
	"encoding/json"
	"time"
)

// Event is one row of event_outbox.
type Event struct {
	ID            string
	Type          string
	AggregateType string
	AggregateID   string
	Payload       json.RawMessage
	CorrelationID string // empty: none
	CreatedAt     time.Time
}
