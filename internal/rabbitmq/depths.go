package rabbitmq

import (
	"context"
	"fmt"
)

// Depths returns how many messages wait in each queue that Herald publishes to, by
// the queue's name; those that a consumer holds are not counted. It returns by the
// end of ctx. However many ask, the broker is asked once at a time.
func (b *Broker) Depths(ctx context.Context) (map[string]int, error) {
	if err := b.Ready(); err != nil { // a blocked broker would not answer
		return nil, err
	}
	s := b.current().session
	if s == nil {
		return nil, errConnecting
	}
	found := b.depths.DoChan("", func() (any, error) { return s.depths() })
	select {
	case result := <-found:
		depths, _ := result.Val.(map[string]int)
		return depths, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("ask RabbitMQ for the depth of its queues: %w", ctx.Err())
	}
}

// depths knows no context, as nothing of the client library does: it ends with the
// session at the latest.
func (s *session) depths() (map[string]int, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	defer func() { _ = ch.Close() }() // it has nothing to lose
	depths := map[string]int{}
	for _, q := range queues(Bounds{}) {
		state, err := ch.QueueDeclarePassive(q.name, true, false, false, false, nil)
		if err != nil {
			return nil, fmt.Errorf("look at queue %s: %w", q.name, err)
		}
		depths[q.name] = state.Messages
	}
	return depths, nil
}
