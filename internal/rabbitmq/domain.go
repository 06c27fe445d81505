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
	AggregateID   any             `json:"aggregate_id"` // a number where it is an integer
	Payload       json.RawMessage `json:"payload"`
}

// PublishEvent publishes the domain message of an event, persistent, to the queue
// of each named audience, which it creates where it is missing. It stops at the first
// failure, see [Broker.Publish]. When the call is repeated, some queues get the
// message twice, both times with the event's id as message id.
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
		return refused(codeNotJSON) // the cause would quote the payload
	}

	for _, audience := range audiences {
		err := b.Publish(ctx, Message{
			RoutingKey:    EventQueue(audience),
			ID:            event.ID,
			Type:          event.Type,
			CorrelationID: event.CorrelationID,
			Body:          body,
			Persistent:    true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PublishDeadLetter publishes a delivery that was given up, persistent, to
// [DeadLetterQueue]. It fails as [Broker.Publish] does.
func (b *Broker) PublishDeadLetter(ctx context.Context, letter notification.DeadLetter) error {
	body, err := encode(letter)
	if err != nil {
		return refused(codeNotJSON)
	}
	return b.Publish(ctx, Message{RoutingKey: DeadLetterQueue, ID: letter.DeliveryID, CorrelationID: letter.CorrelationID, Body: body, Persistent: true})
}

// PublishWebSocket publishes a message for the gateways of an audience, whose queue it
// creates where it is missing. It refuses a word that is no audience of a user type,
// whose message everybody could read. The message is transient: a restart of the broker
// drops it. It fails as [Broker.Publish] does.
func (b *Broker) PublishWebSocket(ctx context.Context, audience, deliveryID string, body []byte) error {
	if !notification.IsAudience(audience) {
		return refused(codeNoAudience)
	}
	b.queues.addWebSocket(audience)
	return b.Publish(ctx, Message{RoutingKey: WebSocketQueue(audience), ID: deliveryID, Body: body})
}

// aggregateID returns a number where that reads the same as the text: 007 stays text.
func aggregateID(id string) any {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return id
	}
	return n
}

// encode leaves <, > and & as they are, so that a payload is unchanged.
func encode(v any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}
