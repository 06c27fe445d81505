-- +goose NO TRANSACTION
-- +goose Up
-- The latest events, which `starter event list` shows, and which `starter check` and each worker that starts look at. It takes the place of
-- an index of created_at alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_latest ON event_outbox (created_at, seq);
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_created_at;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_created_at ON event_outbox (created_at);
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_latest;
