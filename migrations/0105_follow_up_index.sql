-- +goose NO TRANSACTION
-- +goose Up
-- Retention keeps deliveries with follow-ups.
CREATE INDEX CONCURRENTLY IF NOT EXISTS delivery_follow_up_delivery ON delivery_follow_up (delivery_id);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS delivery_follow_up_delivery;
