-- +goose NO TRANSACTION
-- +goose Up
-- What is still to be delivered of an event, over one channel: at once, or later. Rows leave it as they are sent, so it stays
-- as small as what is under way.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_undelivered
    ON notification (event_id, channel, (CASE WHEN send_after IS NULL AND strategy <> 'AGGREGATE' THEN 'NOW' ELSE 'LATER' END), id)
    WHERE status IN ('PENDING', 'FAILED');

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS notification_undelivered;
