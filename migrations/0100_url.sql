-- Where a notification leads. The columns have no default, so the tables are not written.
-- +goose Up
ALTER TABLE notification_template ADD COLUMN url text;
COMMENT ON COLUMN notification_template.url IS 'Template of the link, over WEBSOCKET and WEBHOOK. Null: no link.';

ALTER TABLE notification ADD COLUMN url text;
COMMENT ON COLUMN notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';

-- The views of one user type have the columns of notification, and their comments.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
COMMENT ON COLUMN restaurant_notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';
COMMENT ON COLUMN customer_notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';
COMMENT ON COLUMN agency_notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';
COMMENT ON COLUMN admin_notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';
COMMENT ON COLUMN guest_notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';

-- +goose Down
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification DROP COLUMN url;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
ALTER TABLE notification_template DROP COLUMN url;
