-- +goose NO TRANSACTION
-- +goose Up
-- Batches count here how many deliveries of their event have a failed workflow.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_failed_child ON notification (event_id) WHERE failed_child;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS notification_failed_child;
