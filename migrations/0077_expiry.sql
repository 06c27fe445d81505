-- Events and deliveries that are worth nothing after a time. The columns have no default, so the tables are not written.
-- +goose Up
ALTER TABLE event_outbox ADD COLUMN expires_at timestamptz;
COMMENT ON COLUMN event_outbox.expires_at IS 'Nothing of the event is sent from this time on. Null: no limit.';

ALTER TABLE event_type_channel_routing ADD COLUMN expires_after interval;
ALTER TABLE event_type_channel_routing ADD CONSTRAINT event_type_channel_routing_expires_after CHECK (expires_after BETWEEN '1 second' AND '365 days');
COMMENT ON COLUMN event_type_channel_routing.expires_after IS 'Nothing is sent over the channel from this time after event_outbox.created_at on: 1 second to 365 days. The earlier of this and event_outbox.expires_at counts. A day has 24 hours. Null: no limit.';

ALTER TABLE notification ADD COLUMN expires_at timestamptz;
COMMENT ON COLUMN notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';

-- The views of one user type have the columns of notification, and their comments.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
COMMENT ON COLUMN restaurant_notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';
COMMENT ON COLUMN customer_notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';
COMMENT ON COLUMN agency_notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';
COMMENT ON COLUMN admin_notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';
COMMENT ON COLUMN guest_notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';

-- A follow-up that a release does not know stays until another release handles it.
ALTER TABLE delivery_follow_up DROP CONSTRAINT delivery_follow_up_kind;

-- +goose Down
ALTER TABLE delivery_follow_up ADD CONSTRAINT delivery_follow_up_kind CHECK (kind IN ('DEAD_LETTER', 'ESCALATION'));
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification DROP COLUMN expires_at;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
ALTER TABLE event_type_channel_routing DROP COLUMN expires_after;
ALTER TABLE event_outbox DROP COLUMN expires_at;
