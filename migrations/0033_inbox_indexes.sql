-- +goose NO TRANSACTION
-- +goose Up
-- A recipient's inbox in its order, and what is unread of it. Other channels cost nothing here. A query repeats both expressions as they
-- stand. attempt_count is not among them: it changes as an attempt begins, which then would have to write each index of the row.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_inbox ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED'));
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_unread ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED')) AND read_at IS NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS notification_unread;
DROP INDEX CONCURRENTLY IF EXISTS notification_inbox;
