package rabbitmq

import (
	"context"
	"fmt"
)

// Depths returns how many messages wait in each queue that Herald publishes to, by
// the queue's name, without those that a consumer holds. It returns by the end of
// ctx. Calls at the same time share one answer.
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

// depths has no context, because the client library takes none. It ends when the
// session does, at the latest.
func (s *session) depths() (map[string]int, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	defer func() { _ = ch.Close() }() // it has nothing to lose
	depths := map[string]int{}
	for _, q := range s.queues.all() {
		state, err := ch.QueueDeclarePassive(q.name, true, false, false, false, nil)
		if err != nil {
			return nil, fmt.Errorf("look at queue %s: %w", q.name, err)
		}
		depths[q.name] = state.Messages
	}
	return depths, nil
}
