-- +goose NO TRANSACTION
-- +goose Up
-- What the sweep looks through in the order of the ids, and what `starter status` counts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_processing ON processed_event (event_id) WHERE status = 'PROCESSING';
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_incomplete ON processed_event (event_id) WHERE outcome = 'INCOMPLETE';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS processed_event_incomplete;
DROP INDEX CONCURRENTLY IF EXISTS processed_event_processing;
