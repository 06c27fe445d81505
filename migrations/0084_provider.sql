-- Which provider has a message. The column has no default, so the table is not written.
-- +goose Up
ALTER TABLE notification ADD COLUMN provider text;
COMMENT ON COLUMN notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';

-- The views of one user type have the columns of notification, and their comments.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
COMMENT ON COLUMN restaurant_notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';
COMMENT ON COLUMN customer_notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';
COMMENT ON COLUMN agency_notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';
COMMENT ON COLUMN admin_notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';
COMMENT ON COLUMN guest_notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none, or a release before 0.3 sent it.';

-- +goose Down
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification DROP COLUMN provider;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
