-- +goose NO TRANSACTION
-- +goose Up
-- What somebody was sent and not, the latest first: `starter why --recipient`.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_decision_recipient ON notification_decision (user_type, user_id, decided_at);

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS notification_decision_recipient;
