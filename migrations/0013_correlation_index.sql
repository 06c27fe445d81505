-- +goose NO TRANSACTION
-- +goose Up
-- What operators ask for by its correlation id. Most producers set none, and their rows cost nothing here.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_correlation_id ON notification (correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS event_outbox_correlation_id ON event_outbox (correlation_id, created_at) WHERE correlation_id IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS event_outbox_correlation_id;
DROP INDEX CONCURRENTLY IF EXISTS notification_correlation_id;
