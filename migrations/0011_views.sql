-- +goose Up
-- The columns that notification has got since.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';

-- For what was built on the two tables of the documents that Herald was made after. What is cancelled counts there as failed.
CREATE VIEW notification_outbox AS
SELECT id,
       event_id,
       user_id AS recipient_id,
       user_type AS recipient_type,
       channel,
       title,
       body,
       recipient_address,
       CASE status WHEN 'SENT' THEN 'PUBLISHED' WHEN 'CANCELLED' THEN 'FAILED' ELSE status END AS status,
       created_at,
       sent_at AS published_at,
       delivered_at
FROM   notification;

-- Only channels that are retried had rows there.
CREATE VIEW notification_channel_send AS
SELECT id,
       id AS notification_id,
       channel AS channel_type,
       recipient_address,
       sent_at AS sent,
       CASE WHEN status IN ('SENT', 'DELIVERED') THEN 'SENT' WHEN status IN ('FAILED', 'CANCELLED') THEN 'FAILED' END AS status, -- null: not ended
       attempt_count,
       CASE WHEN status = 'PENDING' THEN coalesce(send_after, created_at) END AS next_retry_at, -- not before then; back-offs are kept by Temporal
       last_error,
       created_at
FROM   notification
WHERE  channel IN ('EMAIL', 'PUSH', 'SMS');

-- Postgres would pass some changes on to the table. The triggers for each statement are fired because there are those for each row.
-- +goose StatementBegin
CREATE FUNCTION refuse_change_of_view() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'view % is read-only', TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported', HINT = 'Herald alone writes the table notification.';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER notification_outbox_is_read_only
    BEFORE INSERT OR UPDATE OR DELETE ON notification_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_view();
CREATE TRIGGER notification_outbox_row_is_read_only
    INSTEAD OF INSERT OR UPDATE OR DELETE ON notification_outbox
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_view();
CREATE TRIGGER notification_channel_send_is_read_only
    BEFORE INSERT OR UPDATE OR DELETE ON notification_channel_send
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_view();
CREATE TRIGGER notification_channel_send_row_is_read_only
    INSTEAD OF INSERT OR UPDATE OR DELETE ON notification_channel_send
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_view();

-- +goose Down
DROP VIEW notification_channel_send;
DROP VIEW notification_outbox;
DROP FUNCTION refuse_change_of_view();
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
CREATE VIEW restaurant_notification AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, strategy, priority, send_after,
       attempt_count, last_error, provider_message_id, digest_id, created_at, sent_at, delivered_at, read_at
FROM   notification
WHERE  user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, strategy, priority, send_after,
       attempt_count, last_error, provider_message_id, digest_id, created_at, sent_at, delivered_at, read_at
FROM   notification
WHERE  user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, strategy, priority, send_after,
       attempt_count, last_error, provider_message_id, digest_id, created_at, sent_at, delivered_at, read_at
FROM   notification
WHERE  user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, strategy, priority, send_after,
       attempt_count, last_error, provider_message_id, digest_id, created_at, sent_at, delivered_at, read_at
FROM   notification
WHERE  user_type = 'ADMIN';
