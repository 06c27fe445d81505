package rabbitmq

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// publishTimeout limits a call whose context has no deadline.
	publishTimeout = 10 * time.Second

	// connectGrace is the wait after a connection loss, so that a best-effort delivery survives a
	// reconnection.
	connectGrace = time.Second
)

// Message is one JSON message for [Exchange].
type Message struct {
	RoutingKey    string
	ID            string // the same in each repeat
	Type          string
	CorrelationID string
	Traceparent   string // W3C's form; empty: no header
	Body          []byte // the caller must not change it, even after an error
	Persistent    bool   // survives a broker restart
}

func (m Message) publishing() amqp.Publishing {
	mode := amqp.Transient
	if m.Persistent {
		mode = amqp.Persistent
	}
	var headers amqp.Table
	if m.Traceparent != "" {
		headers = amqp.Table{"traceparent": m.Traceparent}
	}
	return amqp.Publishing{
		Headers:       headers,
		ContentType:   "application/json",
		DeliveryMode:  mode,
		MessageId:     m.ID,
		Type:          m.Type,
		CorrelationId: m.CorrelationID,
		Body:          m.Body,
	}
}

// fits reports whether each property is short enough for the protocol. If a property is too long, the
// library stops in the middle of a frame, which ends the connection.
func (m Message) fits() bool {
	const longest = 255 // bytes of a short string (AMQP 0-9-1, section 4.2.5.3)
	return max(len(m.RoutingKey), len(m.ID), len(m.Type), len(m.CorrelationID)) <= longest
}

// Publish returns nil when the broker has confirmed that the message is in a queue. Every error
// is a [notification.ProviderError] of class
//
//   - Busy: the message is in no queue. There is no connection, an alarm blocks the
//     broker, or the topology was damaged and not repaired in time;
//   - Ambiguous: the message may be in its queue. The context ended, the connection
//     broke, or the broker itself does not know (negative confirmation);
//   - Refused: the topology has no queue for the routing key, or a property is
//     longer than 255 bytes;
//   - Account: the user may not write.
//
// It returns by the deadline of ctx, or after 10 s if ctx has none. A repeat of a message must
// use the same id.
func (b *Broker) Publish(ctx context.Context, m Message) error {
	if !m.fits() {
		return refused(codeTooLong)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, publishTimeout)
		defer cancel()
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	s := b.connected(ctx)
	if s == nil {
		return busy(codeNotConnected)
	}
	if s.blocked.Load() {
		return busy(codeBlocked)
	}
	return s.publish(ctx, m)
}

// connected returns the session, or nil if there is none within connectGrace.
func (b *Broker) connected(ctx context.Context) *session {
	ctx, cancel := context.WithTimeout(ctx, connectGrace)
	defer cancel()
	for {
		now := b.current()
		if now.session != nil && now.session.ctx.Err() == nil {
			return now.session
		}
		select {
		case <-now.changed:
		case <-b.stopped:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// publish passes a message to the first free worker.
func (s *session) publish(ctx context.Context, m Message) error {
	j := job{ctx: ctx, message: m, result: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-s.ctx.Done():
		return busy(codeNotConnected)
	case <-ctx.Done():
		return interrupted(ctx)
	}
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
		return interrupted(ctx)
	}
}
