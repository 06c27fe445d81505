-- +goose NO TRANSACTION
-- +goose Up
-- What each poller claims: the events of its source alone. It takes the place of an index of all pending events.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_claim ON event_outbox (source, seq) WHERE status = 'PENDING';
-- Which events of other outboxes are open or failed. Those that were acknowledged, and Herald's own, cost nothing here.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_unacknowledged ON event_outbox (source, status) WHERE source <> 'herald' AND acknowledged_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_pending;
-- Each reads the table once, beside its readers and writers.
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_source;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_sink_attempts;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_complete;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_event_type_length;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_aggregate_type_length;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_aggregate_id_length;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_pending ON event_outbox (seq) WHERE status = 'PENDING';
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_unacknowledged;
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_claim; -- the constraints go with the migration before
