-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_collapse_key;
-- The deliveries that a newer event may replace.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_collapse ON notification (user_type, user_id, event_type, collapse_key, collapse_seq)
    WHERE collapse_key IS NOT NULL AND replaced_by IS NULL;
-- The inbox without replaced notifications. A gateway of the release before uses notification_of_user without the old indexes.
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_inbox_newest ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED')) AND replaced_by IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_unread_newest ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED')) AND replaced_by IS NULL AND read_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS notification_unread;
DROP INDEX CONCURRENTLY IF EXISTS notification_inbox;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_inbox ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED'));
CREATE INDEX CONCURRENTLY IF NOT EXISTS notification_unread ON notification (user_type, user_id, (coalesce(available_at, sent_at, created_at)), id)
    WHERE channel = 'WEBSOCKET' AND (available_at IS NOT NULL OR status IN ('SENT', 'DELIVERED', 'FAILED')) AND read_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS notification_unread_newest;
DROP INDEX CONCURRENTLY IF EXISTS notification_inbox_newest;
DROP INDEX CONCURRENTLY IF EXISTS notification_collapse;
