-- +goose NO TRANSACTION
-- +goose Up
-- What `starter event retry --all-failed` pages through, in the order of the ids: events that could not be started, and events
-- that failed after that. The first also serves whoever counts FAILED rows, and takes the place of an index on seq.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_failed_id ON event_outbox (event_id) WHERE status = 'FAILED';
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_failed_id ON processed_event (event_id) WHERE status = 'FAILED';
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_failed;
-- The oldest of what operators did, for `starter purge --actions`.
CREATE INDEX CONCURRENTLY IF NOT EXISTS operator_action_at ON operator_action (at);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS operator_action_at;
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_failed ON event_outbox (seq) WHERE status = 'FAILED';
DROP INDEX CONCURRENTLY IF EXISTS processed_event_failed_id;
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_failed_id;
