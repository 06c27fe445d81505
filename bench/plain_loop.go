package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// plainLoop is what a good engineer writes first. It keeps no order where a record fails,
// gives up nothing, and two of it would send every row twice.
type plainLoop struct {
	in         *installation
	selectRows string
	markRows   string
	topic      string
	batch      int
	kafka      *kgo.Client
	people     bool // each row becomes an event first
}

func newPlainLoop(in *installation, table, topic string, batch int, people bool) (*plainLoop, error) {
	kafka, err := kgo.NewClient(kgo.SeedBrokers(in.brokers...), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		return nil, err
	}
	in.atEnd(func(context.Context) error { kafka.Close(); return nil })
	named := strings.NewReplacer("{table}", table)
	return &plainLoop{
		in: in, topic: topic, batch: batch, kafka: kafka, people: people,
		selectRows: named.Replace(`
			SELECT id::text, aggregate_type, aggregate_id::text, event_type, payload
			FROM   {table}
			WHERE  status = 'NEW'
			ORDER BY created_at
			LIMIT  $1`),
		markRows: named.Replace(`
			UPDATE {table}
			SET    status  = 'SENT',
			       sent_at = now()
			WHERE  id = ANY ($1::text[]::uuid[])`),
	}, nil
}

type loopRow struct{ ID, AggregateType, AggregateID, EventType, Payload string }

func (l *plainLoop) run(ctx context.Context) error {
	for {
		selected, _ := l.in.db.Query(ctx, l.selectRows, l.batch) // CollectRows returns its error
		rows, err := pgx.CollectRows(selected, pgx.RowToStructByPos[loopRow])
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		ids, records := make([]string, len(rows)), make([]*kgo.Record, len(rows))
		for i, row := range rows {
			ids[i], records[i] = row.ID, l.record(row)
		}
		if err := l.adopt(ctx, ids, rows); err != nil {
			return err
		}
		if err := l.kafka.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
		if _, err := l.in.db.Exec(ctx, l.markRows, ids); err != nil {
			return err
		}
	}
}

// adopt inserts the rows as events, which no poller claims.
func (l *plainLoop) adopt(ctx context.Context, ids []string, rows []loopRow) error {
	if !l.people {
		return nil
	}
	const insert = `
		INSERT INTO event_outbox (event_id, source, event_type, aggregate_type, aggregate_id, payload)
		SELECT id, 'loop', event_type, 'Order', aggregate_id, payload::jsonb
		FROM   unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r (id, event_type, aggregate_id, payload)
		ON CONFLICT DO NOTHING`

	types, aggregates, payloads := make([]string, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		types[i], aggregates[i], payloads[i] = row.EventType, row.AggregateID, row.Payload
	}
	_, err := l.in.db.Exec(ctx, insert, ids, types, aggregates, payloads)
	return err
}

// record has the headers that Herald gives.
func (l *plainLoop) record(row loopRow) *kgo.Record {
	return &kgo.Record{Topic: l.topic, Key: []byte(row.AggregateID), Value: []byte(row.Payload), Headers: []kgo.RecordHeader{
		{Key: "event_id", Value: []byte(row.ID)},
		{Key: "event_type", Value: []byte(row.EventType)},
		{Key: "aggregate_type", Value: []byte(row.AggregateType)},
		{Key: "aggregate_id", Value: []byte(row.AggregateID)},
		{Key: "source", Value: []byte("loop")},
		{Key: "content-type", Value: []byte("application/json")},
	}}
}
