package rabbitmq

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"herald/internal/notification"
)

// eventMessage is the body of a domain message.
type eventMessage struct {
	EventID       string          `json:"event_id"`
	EventType     string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   any             `json:"aggregate_id"` // see [aggregateID]
	Payload       json.RawMessage `json:"payload"`
}

// PublishEvent publishes an event's persistent domain message to the queue of each named audience.
// It creates missing queues. It stops at the first failure (see [Broker.Publish]). After a repeated
// call, some queues have the message twice, both times with the event's id as message id.
func (b *Broker) PublishEvent(ctx context.Context, event notification.Event, audiences []string) error {
	for _, audience := range audiences {
		if !notification.IsAudience(audience) && !slices.Contains(notification.AggregateAudiences(), audience) {
			return refused(codeNoAudience)
		}
		b.queues.addEvents(audience)
	}
	body, err := encode(eventMessage{
		EventID:       event.ID,
		EventType:     event.Type,
		AggregateType: event.AggregateType,
		AggregateID:   aggregateID(event.AggregateID),
		Payload:       event.Payload,
	})
	if err != nil {
		return refused(codeNotJSON) // the cause quotes the payload
	}

	for _, audience := range audiences {
		err := b.Publish(ctx, Message{
			RoutingKey:    EventQueue(audience),
			ID:            event.ID,
			Type:          event.Type,
			CorrelationID: event.CorrelationID,
			Traceparent:   event.Traceparent,
			Body:          body,
			Persistent:    true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PublishDeadLetter publishes a persistent message about a given-up delivery to [DeadLetterQueue]. It
// fails like [Broker.Publish].
func (b *Broker) PublishDeadLetter(ctx context.Context, letter notification.DeadLetter) error {
	body, err := encode(letter)
	if err != nil {
		return refused(codeNotJSON)
	}
	return b.Publish(ctx,
		Message{RoutingKey: DeadLetterQueue, ID: letter.DeliveryID, CorrelationID: letter.CorrelationID, Body: body, Persistent: true})
}

// PublishWebSocket publishes a message for an audience's gateways. It creates a missing queue. It
// refuses a word that is no audience, because everybody could read the message. The message is
// transient: a broker restart drops it. It fails like [Broker.Publish].
func (b *Broker) PublishWebSocket(ctx context.Context, audience, deliveryID string, body []byte) error {
	if !notification.IsAudience(audience) {
		return refused(codeNoAudience)
	}
	b.queues.addWebSocket(audience)
	return b.Publish(ctx, Message{RoutingKey: WebSocketQueue(audience), ID: deliveryID, Body: body})
}

// aggregateID returns a number if it prints the same as the text, and if every program reads it exactly:
// 007 stays text, and so does an id over 2^53.
func aggregateID(id string) any {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return id
	}
	return notification.JSONInt(n)
}

// encode does not escape <, > and &, so that a payload stays unchanged.
func encode(v any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}
