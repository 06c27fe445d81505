-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_restarting ON processed_event (event_id) WHERE restarting_at IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS processed_event_restarting;
