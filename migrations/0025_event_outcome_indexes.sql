-- +goose NO TRANSACTION
-- +goose Up
-- Events by their outcome. Those that simply reached people have none, and cost nothing here. The first is for lists, the latest end
-- first, and for counts of a day; the second is for whatever pages through all of an outcome, and takes the place of an index of INCOMPLETE ones.
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_outcome_at ON processed_event (outcome, updated_at) WHERE outcome IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_outcome_id ON processed_event (outcome, event_id) WHERE outcome IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS processed_event_incomplete;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS processed_event_incomplete ON processed_event (event_id) WHERE outcome = 'INCOMPLETE';
DROP INDEX CONCURRENTLY IF EXISTS processed_event_outcome_id;
DROP INDEX CONCURRENTLY IF EXISTS processed_event_outcome_at;
