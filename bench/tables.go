package main

import (
	"context"
	"errors"
	"strings"
	"time"
)

// createTable makes an outbox as the order service has it.
func (in *installation) createTable(ctx context.Context, table string) error {
	_, err := in.db.Exec(ctx, strings.ReplaceAll(`
		CREATE TABLE {table} (
			id             uuid PRIMARY KEY,
			aggregate_type varchar(255) NOT NULL,
			aggregate_id   uuid NOT NULL,
			event_type     varchar(255) NOT NULL,
			payload        text NOT NULL,
			status         varchar(50) NOT NULL,
			created_at     timestamp NOT NULL,
			sent_at        timestamp,
			error_message  text
		);
		CREATE INDEX ON {table} (status, created_at);
		CREATE INDEX ON {table} (aggregate_id)`, "{table}", table))
	return err
}

// fill empties the table and writes rows, of about 300 bytes each, in one transaction. It
// returns the id of the last.
func (in *installation) fill(ctx context.Context, table string, rows, keys int) (last string, err error) {
	tx, err := in.db.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, "TRUNCATE "+table); err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO `+table+` (id, aggregate_type, aggregate_id, event_type, payload, status, created_at)
		SELECT gen_random_uuid(), 'Order', md5((n % $2)::text)::uuid, 'OrderCreated',
		       '{"order":' || n || ',"customer":"' || md5(n::text) || '","items":["' || repeat(md5((n + 1)::text) || '","', 6) || '"]}',
		       'NEW', timezone('UTC', now()) + n * interval '1 microsecond'
		FROM   generate_series(1, $1::int) AS n`, rows, keys)
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

// awaitSent waits until no row is pending. It looks at the last one first, which costs those
// who send nothing.
func (in *installation) awaitSent(ctx context.Context, table, last string) error {
	for {
		var status string
		if err := in.db.QueryRow(ctx, "SELECT status FROM "+table+" WHERE id = $1::text::uuid", last).Scan(&status); err != nil {
			return err
		}
		if status == "SENT" {
			var pending int
			if err := in.db.QueryRow(ctx, "SELECT count(*) FROM "+table+" WHERE status = 'NEW'").Scan(&pending); err != nil || pending == 0 {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("not all rows are sent"), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// rate is the rows that were marked after the first mark, by the seconds between that and
// the last.
func (in *installation) rate(ctx context.Context, table string) (rate float64, err error) {
	err = in.db.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE sent_at > first) / greatest(extract(epoch FROM max(sent_at) - min(first)), 0.001)
		FROM  (SELECT sent_at, min(sent_at) OVER () AS first
		       FROM   `+table+`
		       WHERE  status = 'SENT') AS sent`).Scan(&rate)
	return rate, err
}
