-- +goose NO TRANSACTION
-- +goose Up
-- The latest events, which `starter event list` shows, and which `starter check` and each worker that starts look at.
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_latest ON event_outbox (created_at, seq);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_latest;
