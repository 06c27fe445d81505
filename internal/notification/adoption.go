package notification

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// KnownEvent is what Herald's table knows of the event of a row.
type KnownEvent struct {
	ID           string
	Source       string
	Status       OutboxStatus
	Unfit        string // why it is never sent, whatever its service does: it cannot be adopted, or another event takes it back; empty: it may be
	Cancelled    string // why it is not sent although no topic refused it: by an operator, most often; empty: it was not cancelled
	RowFailed    bool   // its own table was told that it was cancelled
	Refused      bool   // its topic has refused it for good, and its workflow runs: people are still told of it
	Acknowledged bool   // its own table may mark it as sent
	CreatedAt    time.Time
	Ended        bool          // no workflow of it runs, and none did a moment ago
	Refusals     int           // by the broker of its topic
	Wait         time.Duration // until its claim ends, or it is tried again; zero: nobody has it
}

// AdoptionStep is what the poller does about a pending row.
type AdoptionStep string

// The steps.
const (
	AdoptRow   AdoptionStep = "adopt"        // Herald's table does not know it
	AdoptClash AdoptionStep = "adopt failed" // another source has its id, or an earlier row had its key
	MarkRow    AdoptionStep = "mark"         // it is acknowledged; only its mark is missing
	FailRow    AdoptionStep = "fail"         // its event cannot be adopted, or was cancelled; only its mark is missing
	BeginRow   AdoptionStep = "begin again"  // its service has set it back
	OrderRow   AdoptionStep = "order"        // its service has set it back, and its workflow runs
	PassRow    AdoptionStep = "pass over"    // its event is open, or waits for an operator
)

// clashMark stands between the id that another event has and the name of the row's own
// source, in the id that the row's event gets instead.
const clashMark = "~"

// Step decides about a pending row. known are the events with the ids of
// [SourceConfig.EventIDs], as far as there are any.
func (c SourceConfig) Step(row SourceKey, known map[string]KnownEvent) (eventID string, step AdoptionStep) {
	eventID = c.EventID(row.Key)
	event, found := known[eventID]
	if found && !c.has(event, row) {
		eventID += clashMark + c.Name
		if event, found = known[eventID]; !found {
			return eventID, AdoptClash
		}
	}
	switch {
	case !found:
		return eventID, AdoptRow
	case !c.has(event, row):
		return eventID, PassRow
	case event.Acknowledged:
		return eventID, MarkRow
	case !c.Dialect.MarksFailed():
		return eventID, PassRow
	case event.Refused:
		return eventID, OrderRow
	case !event.Ended:
		return eventID, PassRow
	case event.Unfit != "", event.Cancelled != "" && !event.RowFailed:
		return eventID, FailRow
	case event.Status == OutboxFailed, event.Cancelled != "":
		return eventID, BeginRow
	default:
		return eventID, PassRow
	}
}

// has says whether an event may be that of a row. One that was sent, and was created at
// another time, was the event of a row that had the same key before: ids begin anew where
// a table is emptied. To mark the row because of it would lose it.
func (c SourceConfig) has(event KnownEvent, row SourceKey) bool {
	earlier := event.Acknowledged && row.CreatedAt != nil && !row.CreatedAt.Equal(event.CreatedAt)
	return event.Source == c.Name && !earlier
}

// EventIDs are the ids that the event of a row may have.
func (c SourceConfig) EventIDs(key string) []string {
	id := c.EventID(key)
	return []string{id, id + clashMark + c.Name}
}

// AdoptedEvent is a row of another outbox as event_outbox gets it.
type AdoptedEvent struct {
	ID            string
	Type          string
	AggregateType string // empty: null
	AggregateID   string // empty: null
	CorrelationID string // empty: null
	Payload       []byte // nil: null, since it is no JSON object of 256 KiB
	CreatedAt     time.Time
	Problem       string // why it is FAILED from the beginning; empty: it is PENDING
}

// The limits of event_outbox for events of other outboxes.
const (
	maxAdoptedBytes = 255
	maxPayloadBytes = 256 << 10
)

// Adopt is the event of a row. What event_outbox refuses to hold is left out or made
// readable, and the problem says so: the row fails alone, and can be found.
func (c SourceConfig) Adopt(eventID string, row SourceRow) AdoptedEvent {
	event := AdoptedEvent{ID: eventID, CreatedAt: row.CreatedAt}
	if eventID != c.EventID(row.Key) {
		event.Problem = "another source, or an earlier row, has an event with the id " + c.EventID(row.Key)
	}
	aggregateType, aggregateID := c.aggregateOf(row)
	for _, field := range []struct {
		name string
		from string
		to   *string
	}{
		{"event type", row.EventType, &event.Type},
		{"aggregate type", aggregateType, &event.AggregateType},
		{"aggregate id", aggregateID, &event.AggregateID},
		{"correlation id", row.CorrelationID, &event.CorrelationID},
	} {
		if *field.to = storable(field.from); *field.to != field.from {
			event.Problem = "the " + field.name + " is longer than 255 bytes, or has control characters"
		}
	}
	if event.Type == "" {
		event.Type, event.Problem = "?", "the event type is empty"
	}
	if IsAdoptable(row.Payload) {
		event.Payload = row.Payload
	}
	return event
}

// IsAdoptable says whether event_outbox holds a payload, as far as it can be told
// without the database: whether it is a JSON object of at most 256 KiB.
func IsAdoptable(payload []byte) bool {
	var object map[string]json.RawMessage
	return len(payload) <= maxPayloadBytes && json.Unmarshal(payload, &object) == nil && object != nil
}

// storable is a text as event_outbox takes it, which may be shown on a terminal.
func storable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxAdoptedBytes {
		text = strings.ToValidUTF8(text[:maxAdoptedBytes], "")
	}
	return text
}
