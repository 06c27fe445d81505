-- Events that take the place of older events. The columns have no default, so the tables are not written. The constraint is NOT VALID here,
-- since it is validated by the next migration.
-- +goose Up
ALTER TABLE event_outbox
    ADD COLUMN collapse_key text,
    ADD CONSTRAINT event_outbox_collapse_key CHECK (octet_length(collapse_key) BETWEEN 1 AND 150 AND collapse_key !~ '[[:cntrl:]]') NOT VALID;
COMMENT ON COLUMN event_outbox.collapse_key IS 'The event takes the place of older events of its type with the same key, for each recipient that it tells: at most 150 bytes. Null: it replaces none.';

ALTER TABLE notification
    ADD COLUMN collapse_key text,
    ADD COLUMN collapse_seq bigint,
    ADD COLUMN replaced_by  text;
COMMENT ON COLUMN notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';

-- The views of one user type have the columns of notification, and their comments.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
COMMENT ON COLUMN restaurant_notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN customer_notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN agency_notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN admin_notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN guest_notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN restaurant_notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN customer_notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN agency_notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN admin_notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN guest_notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN restaurant_notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';
COMMENT ON COLUMN customer_notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';
COMMENT ON COLUMN agency_notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';
COMMENT ON COLUMN admin_notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';
COMMENT ON COLUMN guest_notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';

COMMENT ON TABLE delivery_follow_up IS 'Work that follows a receipt, an acknowledgement, a reader, the end of an attempt in a batch or a replacement: a dead letter, an escalation, a workflow to cancel.';
COMMENT ON COLUMN delivery_follow_up.kind IS 'DEAD_LETTER: publish a dead letter. ESCALATION: wake the workflow that waits. REPLACED: cancel the workflow of the delivery.';

-- +goose Down
DELETE FROM delivery_follow_up WHERE kind = 'REPLACED';
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification DROP COLUMN replaced_by, DROP COLUMN collapse_seq, DROP COLUMN collapse_key;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
ALTER TABLE event_outbox DROP COLUMN collapse_key;
