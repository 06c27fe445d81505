package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// plainLoop is the loop that a good engineer writes first. It loses the order when a record
// fails, it never gives up a row, and two running loops would send every row twice.
type plainLoop struct {
	*installation

	table  string
	topic  string
	batch  int
	people bool // insert each row as an event first
}

type loopRow struct{ ID, AggregateType, AggregateID, EventType, Payload string }

func (l *plainLoop) run(ctx context.Context) error {
	for {
		selected, _ := l.DB.Query(ctx, `
			SELECT id::text, aggregate_type, aggregate_id::text, event_type, payload
			FROM   `+l.table+`
			WHERE  status = 'NEW'
			ORDER BY created_at
			LIMIT  $1`, l.batch) // CollectRows returns its error
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
		_, err = l.DB.Exec(ctx, `
			UPDATE `+l.table+`
			SET    status  = 'SENT',
			       sent_at = now()
			WHERE  id = ANY ($1::text[]::uuid[])`, ids)
		if err != nil {
			return err
		}
	}
}

// adopt inserts the rows as events. No poller claims them.
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
	_, err := l.DB.Exec(ctx, insert, ids, types, aggregates, payloads)
	return err
}

// record returns the record of a row, with the same headers as Herald's records.
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

// fill empties the table and writes rows of one type, of about 300 bytes each, in one
// transaction. It returns the id of the last row.
func (in *installation) fill(ctx context.Context, table, eventType string, rows, keys int) (last string, err error) {
	tx, err := in.DB.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, "TRUNCATE "+table); err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO `+table+` (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT gen_random_uuid(), 'Order', md5((n % $2)::text)::uuid, $3,
		       '{"order":' || n || ',"customer":"' || md5(n::text) || '","items":["' || repeat(md5((n + 1)::text) || '","', 6) || '"]}',
		       'NEW', timezone('UTC', now()) + n * interval '1 microsecond'
		FROM   generate_series(1, $1::int) AS n`, rows, keys, eventType)
	if err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, "ANALYZE "+table); err != nil {
		return "", err
	}
	if err := tx.QueryRow(ctx, "SELECT id::text FROM "+table+" ORDER BY created_at DESC LIMIT 1").Scan(&last); err != nil {
		return "", err
	}
	return last, tx.Commit(ctx)
}

// awaitRelayed waits until no row is pending. It checks the last row first, which costs the senders
// almost nothing.
func (in *installation) awaitRelayed(ctx context.Context, table, last string) error {
	return in.until(ctx, roundTime, "not all rows are sent", func() (bool, error) {
		sent, err := in.Count(ctx, "SELECT count(*) FROM "+table+" WHERE id = $1::text::uuid AND status = 'SENT'", last)
		if err != nil || sent == 0 {
			return false, err
		}
		pending, err := in.Count(ctx, "SELECT count(*) FROM "+table+" WHERE status = 'NEW'")
		return pending == 0, err
	})
}

// rate returns the rows per second between the first and the last mark. It does not count the
// rows of the first mark.
func (in *installation) rate(ctx context.Context, table string) (rate float64, err error) {
	err = in.DB.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE sent_at > first) / greatest(extract(epoch FROM max(sent_at) - min(first)), 0.001)
		FROM  (SELECT sent_at, min(sent_at) OVER () AS first
		       FROM   `+table+`
		       WHERE  status = 'SENT') AS sent`).Scan(&rate)
	return rate, err
}
