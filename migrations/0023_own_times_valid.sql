-- +goose NO TRANSACTION
-- +goose Up
-- Which event takes another one back is asked before each attempt. Few events take one back.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_cancels ON event_outbox (cancels) WHERE cancels IS NOT NULL;
-- Each reads its table once, beside its readers and writers.
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_cancels_length;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_cancels_printable;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_cancels_another;
ALTER TABLE event_type_channel_routing VALIDATE CONSTRAINT event_type_channel_routing_delayed;
ALTER TABLE event_type_channel_routing VALIDATE CONSTRAINT event_type_channel_routing_send_at_path;
ALTER TABLE event_type_channel_routing VALIDATE CONSTRAINT event_type_channel_routing_send_before;
ALTER TABLE event_type_channel_routing VALIDATE CONSTRAINT event_type_channel_routing_time_of_send_at_path;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_cancels; -- the constraints go with the migration before
