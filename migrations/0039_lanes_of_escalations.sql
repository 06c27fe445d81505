-- +goose NO TRANSACTION
-- +goose Up
-- What is still to be delivered of an event, over one channel: at once, or what waits, and so stands outside the windows. Of what
-- escalates every row stays: where the event's workflow is lost, the next one asks whether another delivery has to follow.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_to_deliver
    ON notification (event_id, channel, (CASE WHEN send_after IS NULL AND strategy <> 'AGGREGATE' AND NOT escalates THEN 'NOW' ELSE 'LATER' END), id)
    WHERE status IN ('PENDING', 'FAILED') OR escalates;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS notification_to_deliver;
