package relay

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// adopt inserts events for the new rows of a page, so that people are notified. It skips rows that
// waited for their topic, because their first scan already adopted them.
func (p *poll) adopt(ctx context.Context, page *page) error {
	if !p.Source.People {
		return nil
	}
	fresh, err := p.fresh(ctx, page)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var events []AdoptedEvent
	for _, row := range fresh {
		var event AdoptedEvent
		if event, row.PeopleError = p.Source.adopted(row.Row); row.PeopleError == "" {
			events = append(events, event)
		}
	}
	problems, err := p.Memory.Adopt(ctx, p.Source.Name, events)
	if err != nil {
		return err
	}
	var untold []KnownRow
	for _, row := range fresh {
		if problem, refused := problems[row.eventID]; refused {
			row.PeopleError = problem
		}
		if row.PeopleError != "" {
			row.known = true
			untold = append(untold, row.KnownRow)
			p.Log.Error("row notifies nobody", "event_id", row.eventID, "source", p.Source.Name, "error", row.PeopleError)
		}
	}
	if p.Adopted != nil && len(events) > 0 {
		p.Adopted()
	}
	if len(untold) == 0 {
		return nil
	}
	p.Metrics.Untold(len(untold))
	return p.Memory.KeepRows(ctx, p.Source.Name, untold)
}

// fresh returns the rows of a page that may have no event yet. An earlier scan may already have adopted
// the rows that are not sent now, so fresh asks for the ids of these rows, without payloads.
func (p *poll) fresh(ctx context.Context, page *page) (fresh []*pageRow, err error) {
	var waiting []*pageRow
	var ids []string
	for i := range page.rows {
		switch row := &page.rows[i]; {
		case row.known:
		case row.err == nil && (p.backOffs.has(row.record.Topic) || page.held[row.hash]):
			waiting, ids = append(waiting, row), append(ids, row.eventID)
		default:
			fresh = append(fresh, row)
		}
	}
	if len(waiting) == 0 {
		return fresh, nil
	}
	unadopted, err := p.Memory.Unadopted(ctx, ids)
	isNew := map[string]bool{}
	for _, id := range unadopted {
		isNew[id] = true
	}
	for _, row := range waiting {
		if isNew[row.eventID] {
			fresh = append(fresh, row)
		}
	}
	return fresh, err
}

// AdoptedEvent is a row of another outbox in the form of event_outbox.
type AdoptedEvent struct {
	ID            string
	Type          string
	AggregateType string // empty: null
	AggregateID   string // empty: null
	CorrelationID string // empty: null
	Payload       []byte
	CreatedAt     *time.Time // nil: the table has no time
}

// The limits of event_outbox for adopted events.
const (
	maxAdoptedBytes = 255
	maxPayloadBytes = 256 << 10
)

// adopted returns a row's event, or the reason why the row can notify nobody.
func (s Source) adopted(row Row) (event AdoptedEvent, problem string) {
	aggregateType, aggregateID := s.aggregateOf(row)
	for _, field := range []struct{ name, text string }{
		{"event type", row.EventType}, {"aggregate type", aggregateType}, {"aggregate id", aggregateID}, {"correlation id", row.CorrelationID},
	} {
		if len(field.text) > maxAdoptedBytes || strings.ContainsFunc(field.text, isControl) {
			return event, "the " + field.name + " is longer than 255 bytes, or has control characters"
		}
	}
	switch {
	case row.EventType == "":
		return event, "the event type is empty"
	case !isAdoptable(row.Payload):
		return event, "the payload is no JSON object of 256 KiB at most"
	}
	return AdoptedEvent{
		ID: s.EventID(row.Key), Type: row.EventType, AggregateType: aggregateType, AggregateID: aggregateID,
		CorrelationID: row.CorrelationID, Payload: row.Payload, CreatedAt: row.CreatedAt,
	}, ""
}

// isAdoptable reports whether event_outbox accepts a payload: a JSON object of at most 256 KiB.
// The database may still refuse it.
func isAdoptable(payload []byte) bool {
	var object map[string]json.RawMessage
	return len(payload) <= maxPayloadBytes && json.Unmarshal(payload, &object) == nil && object != nil
}

// isControl reports whether a character changes what a terminal shows.
func isControl(r rune) bool {
	return unicode.IsControl(r) || (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}
