package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"herald/internal/notification"
)

// Produce returns nil when all in-sync replicas have the record. ctx bounds it. Its errors
// are [notification.SinkUnavailableError] and [notification.SinkRefusedError].
func (p *Producer) Produce(ctx context.Context, record notification.Record) error {
	err := p.produce(ctx, record, 1)
	var refused *notification.SinkRefusedError
	if errors.As(err, &refused) && refused.Permanent {
		// Brokers refuse whole batches. Alone in a batch, a record is judged for itself.
		return p.produce(ctx, record, maxOpen)
	}
	return err
}

// produce waits for the record's end, or for that of ctx. A record that ends with the
// context of another one, which shares its partition, begins again.
func (p *Producer) produce(ctx context.Context, record notification.Record, share int64) error {
	err := p.once(ctx, record, share)
	for ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		err = p.once(ctx, record, share)
	}
	return p.failure(record.Topic, err)
}

// once returns the client's own error. No more than maxOpen/share records are under way
// with this one.
func (p *Producer) once(ctx context.Context, record notification.Record, share int64) error {
	if err := p.open.Acquire(ctx, share); err != nil {
		return err
	}
	ended := make(chan error, 1) // the client calls back although nobody waits any more
	p.client.Produce(ctx, clientRecord(record), func(_ *kgo.Record, err error) {
		p.open.Release(share)
		ended <- err
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func clientRecord(record notification.Record) *kgo.Record {
	headers := make([]kgo.RecordHeader, len(record.Headers))
	for i, header := range record.Headers {
		headers[i] = kgo.RecordHeader{Key: header.Name, Value: []byte(header.Value)}
	}
	return &kgo.Record{Topic: record.Topic, Key: record.Key, Value: record.Value, Headers: headers}
}
