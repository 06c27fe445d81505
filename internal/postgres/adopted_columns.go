package postgres

import (
	"time"

	"herald/internal/notification"
)

// adoptedColumns are adopted events as a statement takes many of them.
type adoptedColumns struct {
	ids, types, aggregateTypes, aggregateIDs, correlationIDs, problems []string
	payloads                                                           []*string // nil: null
	createdAt                                                          []time.Time
}

func (c *adoptedColumns) add(event notification.AdoptedEvent) {
	c.ids = append(c.ids, event.ID)
	c.types = append(c.types, event.Type)
	c.aggregateTypes = append(c.aggregateTypes, event.AggregateType)
	c.aggregateIDs = append(c.aggregateIDs, event.AggregateID)
	c.correlationIDs = append(c.correlationIDs, event.CorrelationID)
	c.problems = append(c.problems, event.Problem)
	c.createdAt = append(c.createdAt, event.CreatedAt)
	var payload *string
	if event.Payload != nil {
		text := string(event.Payload)
		payload = &text
	}
	c.payloads = append(c.payloads, payload)
}
