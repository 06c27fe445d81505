-- +goose NO TRANSACTION
-- +goose Up
-- notification_to_deliver has taken its place.
DROP INDEX CONCURRENTLY IF EXISTS notification_undelivered;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_undelivered
    ON notification (event_id, channel, (CASE WHEN send_after IS NULL AND strategy <> 'AGGREGATE' THEN 'NOW' ELSE 'LATER' END), id)
    WHERE status IN ('PENDING', 'FAILED');
