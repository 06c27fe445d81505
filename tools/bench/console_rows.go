package main

import (
	"context"

	"golang.org/x/sync/errgroup"
)

const (
	// orderSize is the number of deliveries of a small event.
	orderSize = 10
	// consoleChunk is the number of deliveries that one statement writes.
	consoleChunk = 100_000
)

const consoleRules = `
	INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('NEWS', 'EMAIL'), ('ORDER', 'SMS');
	INSERT INTO notification_template (title, body) VALUES ('News', 'News');
	INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
	VALUES ('broadcast', 'NEWS', 'BROADCAST', '0', '{}', 'PROCESSED', now());
	INSERT INTO processed_event (event_id, status) VALUES ('broadcast', 'SUCCESS')`

const consoleRecipients = `
	INSERT INTO recipient (user_type, user_id, email, phone)
	SELECT 'CUSTOMER', n::text, 'c' || n || '@example.com', '+1202' || lpad((n % 10000000)::text, 7, '0')
	FROM   generate_series(0, $1::int - 1) n`

// consoleDeliveries writes the deliveries from $1 to $2 of $4, for $3 recipients. They have
// neighbouring recipients, so the statement writes few pages of each index.
const consoleDeliveries = `
	WITH new AS MATERIALIZED (
		SELECT n,
		       CASE WHEN n < $3 THEN 'broadcast' ELSE 'order-' || n / $5 END AS event_id,
		       CASE WHEN n < $3 THEN 'NEWS' ELSE 'ORDER' END AS event_type,
		       (n % $3)::text AS user_id,
		       CASE WHEN n < $3 THEN 'EMAIL' ELSE 'SMS' END AS channel,
		       CASE WHEN n % 50 = 0 THEN 'FAILED' WHEN n % 3 = 0 THEN 'SENT' ELSE 'DELIVERED' END AS status,
		       now() - ($4 - n) * interval '1 second' / 20 AS at
		FROM   generate_series($1::bigint, $2::bigint - 1) n
	), event AS (
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, created_at, published_at)
		SELECT event_id, event_type, 'ORDER', n::text, '{}', 'PROCESSED', at, at FROM new WHERE n % $5 = 0 AND n >= $3
	), processed AS (
		INSERT INTO processed_event (event_id, status, created_at, updated_at)
		SELECT event_id, 'SUCCESS', at, at FROM new WHERE n % $5 = 0 AND n >= $3
	), decision AS (
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		SELECT event_id, 'CUSTOMER', user_id, at, jsonb_build_object(channel, 'SELECTED') FROM new
	)
	INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count,
	                          last_error, created_at, sent_at, delivered_at, failed_child)
	SELECT event_id, event_type, 'CUSTOMER', user_id, channel, event_id || '-customer' || user_id || '-' || channel,
	       'News', 'The text of a message, of about the usual length.', status, 1,
	       CASE status WHEN 'FAILED' THEN 'the provider refused: 400' END, at,
	       CASE WHEN status <> 'FAILED' THEN at END, CASE status WHEN 'DELIVERED' THEN at END, false
	FROM   new`

// consoleCounts counts as the sweep does.
const consoleCounts = `
	INSERT INTO delivery_count (since, channel, status, count)
	SELECT date_bin('10 minutes', created_at, 'epoch'), channel, status, count(*)
	FROM   notification
	WHERE  created_at > now() - interval '8 days'
	GROUP BY 1, 2, 3`

// fillConsole writes a broadcast to all recipients, and small events.
func (in *installation) fillConsole(ctx context.Context, s consoleSizes, say func(string, ...any)) error {
	if _, err := in.DB.Exec(ctx, consoleRules); err != nil {
		return err
	}
	if _, err := in.DB.Exec(ctx, consoleRecipients, s.Recipients); err != nil {
		return err
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for from := 0; from < s.Deliveries; from += consoleChunk {
		group.Go(func() error {
			if from%(10*consoleChunk) == 0 {
				say("writing deliveries from %d of %d", from, s.Deliveries)
			}
			_, err := in.DB.Exec(writing, consoleDeliveries, from, min(from+consoleChunk, s.Deliveries), s.Recipients, s.Deliveries, orderSize)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if _, err := in.DB.Exec(ctx, "VACUUM ANALYZE"); err != nil { // as autovacuum would in time
		return err
	}
	_, err := in.DB.Exec(ctx, consoleCounts)
	return err
}
