-- The people and groups, with their settings: two restaurants, an agency, customers in three time zones,
-- admins and a guest.
-- The addresses use domains and numbers reserved for examples; herald.slack_url is Slack's URL.

-- Refuse a directory made of views: an INSERT could write the operator's own tables behind them.
DO $$
DECLARE
    view text;
BEGIN
    SELECT relname
    INTO   view
    FROM   pg_class
    WHERE  oid IN (to_regclass('recipient'), to_regclass('recipient_device'), to_regclass('entity_member'))
    AND    relkind NOT IN ('r', 'p');
    IF FOUND THEN
        RAISE EXCEPTION 'the directory is your own (% is no table), and the example is not written there: seed another database', view;
    END IF;
END;
$$;

INSERT INTO recipient (user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, active)
SELECT user_type, user_id, name, email, phone, current_setting('herald.slack_url') || webhook, locale, timezone, active
FROM   (VALUES
    -- Trattoria, restaurant 5.
    ('RESTAURANT_USER', '10', 'Giulia Conti',    'giulia@trattoria.example.com',  '+12025550110', '/services/TEXAMPLE/BTRATTORIA/giulia', 'it',    'Europe/Rome',      true),
    ('RESTAURANT_USER', '11', 'Marco Bianchi',   'marco@trattoria.example.com',   '+12025550111', NULL,                                   'it',    'Europe/Rome',      true),
    ('RESTAURANT_USER', '12', 'Sara Greco',      NULL,                            '+12025550112', NULL,                                   'en',    'Europe/Rome',      true),
    ('RESTAURANT_USER', '13', 'Luca Ferri',      'luca@trattoria.example.com',    '+12025550113', NULL,                                   'it',    'Europe/Rome',      true),
    ('RESTAURANT_USER', '14', 'Anna Riva',       'anna@trattoria.example.com',    NULL,           NULL,                                   'it',    'Europe/Rome',      true),  -- on leave
    ('RESTAURANT_USER', '15', 'Paolo Serra',     'paolo@trattoria.example.com',   NULL,           NULL,                                   'it',    'Europe/Rome',      false), -- left the restaurant
    -- Osteria, restaurant 7.
    ('RESTAURANT_USER', '20', 'Elena Villa',     'elena@osteria.example.com',     '+12025550120', NULL,                                   'it-CH', 'Europe/Zurich',    true),
    ('RESTAURANT_USER', '21', 'Davide Neri',     'davide@osteria.example.com',    '+12025550121', NULL,                                   'it',    'Europe/Rome',      true),
    ('RESTAURANT_USER', '22', 'Noemi Costa',     'noemi@osteria.example.com',     '+12025550122', NULL,                                   'it',    'Europe/Rome',      true),
    -- Agency 10.
    ('AGENCY_USER',     '30', 'Grace Miller',    'grace@agency.example.com',      NULL,           NULL,                                   'en',    'Europe/London',    true),
    ('AGENCY_USER',     '31', 'Omar Haddad',     'omar@agency.example.com',       '+12025550131', NULL,                                   'en',    'Europe/London',    true),
    ('AGENCY_USER',     '32', 'Ines Alvarez',    'ines@agency.example.com',       NULL,           NULL,                                   'en',    'Europe/London',    true),
    -- Customers.
    ('CUSTOMER',        '42', 'Chiara Romano',   'chiara@example.com',            '+12025550142', NULL,                                   'it',    'Europe/Rome',      true),
    ('CUSTOMER',        '43', 'Ada Brooks',      'ada@example.com',               '+12025550143', NULL,                                   'en',    'America/New_York', true),
    ('CUSTOMER',        '44', 'Kenji Mori',      'kenji@example.com',             '+12025550144', NULL,                                   'en',    'Asia/Tokyo',       true),
    ('CUSTOMER',        '45', 'Tom Wrong',       'tom@example.com',               '+15005550001', NULL,                                   'en',    'America/New_York', true), -- Twilio's example of an invalid number
    ('CUSTOMER',        '46', 'Yuki Sato',       'yuki@example.com',              '+12025550146', NULL,                                   'en',    'Asia/Tokyo',       true),
    -- Admins. Slack does not know the second admin's webhook.
    ('ADMIN',           '1',  'Root Admin',      'admin1@example.com',            '+12025550101', '/services/TEXAMPLE/BADMIN/admin1',      'en',    'UTC',              true),
    ('ADMIN',           '2',  'Night Admin',     'admin2@example.com',            '+12025550102', '/services/TEXAMPLE/BADMIN/none2',       'en',    'UTC',              true),
    ('GUEST',           '90', 'Guest',           'guest@example.com',             NULL,           NULL,                                   'en',    'UTC',              true)
) AS r (user_type, user_id, name, email, phone, webhook, locale, timezone, active)
ON CONFLICT (user_type, user_id) DO UPDATE
SET    name              = excluded.name,
       email             = excluded.email,
       phone             = excluded.phone,
       slack_webhook_url = excluded.slack_webhook_url,
       locale            = excluded.locale,
       timezone          = excluded.timezone,
       active            = excluded.active
WHERE  (recipient.name, recipient.email, recipient.phone, recipient.slack_webhook_url, recipient.locale, recipient.timezone, recipient.active)
       IS DISTINCT FROM (excluded.name, excluded.email, excluded.phone, excluded.slack_webhook_url, excluded.locale, excluded.timezone, excluded.active);

INSERT INTO recipient_device (user_type, user_id, token, active)
VALUES ('RESTAURANT_USER', '10', 'example-device-staff10', true),
       ('RESTAURANT_USER', '11', 'example-device-staff11', true),
       ('RESTAURANT_USER', '12', 'dead-device-staff12', true), -- FCM does not know this token: the first push deactivates it
       ('RESTAURANT_USER', '12', 'example-device-staff12', true),
       ('RESTAURANT_USER', '13', 'example-device-staff13', true),
       ('RESTAURANT_USER', '20', 'example-device-staff20', false), -- deactivated
       ('RESTAURANT_USER', '21', 'example-device-staff21', true),
       ('RESTAURANT_USER', '22', 'example-device-staff22', true),
       ('AGENCY_USER', '30', 'example-device-agent30', true),
       ('CUSTOMER', '42', 'example-device-customer42', true),
       ('CUSTOMER', '43', 'example-device-customer43', true),
       ('CUSTOMER', '44', 'example-device-customer44', true),
       ('CUSTOMER', '46', 'example-device-customer46', true)
ON CONFLICT (user_type, user_id, token) DO UPDATE
SET    active = excluded.active
WHERE  recipient_device.active IS DISTINCT FROM excluded.active;

INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role, active)
VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '10', 'MANAGER', true),
       ('RESTAURANT', '5', 'RESTAURANT_USER', '11', 'CHEF', true),
       ('RESTAURANT', '5', 'RESTAURANT_USER', '12', 'WAITER', true),
       ('RESTAURANT', '5', 'RESTAURANT_USER', '13', 'WAITER', true),
       ('RESTAURANT', '5', 'RESTAURANT_USER', '14', 'WAITER', false),
       ('RESTAURANT', '5', 'RESTAURANT_USER', '15', 'WAITER', true),
       ('RESTAURANT', '7', 'RESTAURANT_USER', '20', 'MANAGER', true),
       ('RESTAURANT', '7', 'RESTAURANT_USER', '21', 'CHEF', true),
       ('RESTAURANT', '7', 'RESTAURANT_USER', '22', 'WAITER', true),
       ('AGENCY', '10', 'AGENCY_USER', '30', 'AGENT', true),
       ('AGENCY', '10', 'AGENCY_USER', '31', 'MANAGER', true),
       ('AGENCY', '10', 'AGENCY_USER', '32', 'ACCOUNTANT', true)
ON CONFLICT (entity_type, entity_id, user_type, user_id) DO UPDATE
SET    role   = excluded.role,
       active = excluded.active
WHERE  (entity_member.role, entity_member.active)
       IS DISTINCT FROM (excluded.role, excluded.active);

-- What the restaurants set for their members.
INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, max_recipients, allowed_roles)
VALUES ('RESTAURANT', '5', 'SMS', NULL, true, NULL, '{MANAGER}'),
       ('RESTAURANT', '7', 'SMS', NULL, false, NULL, NULL),
       ('RESTAURANT', '7', 'SMS', 'RESERVATION_CANCELLED', true, NULL, NULL), -- overrides the row above
       ('RESTAURANT', '7', 'EMAIL', NULL, true, 1, NULL),
       ('RESTAURANT', '7', 'PUSH', NULL, true, NULL, '{MANAGER,CHEF}')
ON CONFLICT ON CONSTRAINT entity_notification_settings_once DO UPDATE
SET    enabled        = excluded.enabled,
       max_recipients = excluded.max_recipients,
       allowed_roles  = excluded.allowed_roles
WHERE  (entity_notification_settings.enabled, entity_notification_settings.max_recipients, entity_notification_settings.allowed_roles)
       IS DISTINCT FROM (excluded.enabled, excluded.max_recipients, excluded.allowed_roles);

-- What people set for themselves.
INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
VALUES ('CUSTOMER', '43', 'offers', 'EMAIL', false)
ON CONFLICT (user_type, user_id, category, channel_type) DO UPDATE
SET    enabled = excluded.enabled
WHERE  user_category_preferences.enabled IS DISTINCT FROM excluded.enabled;

-- Quiet hours here last all day except for a moment after midnight, so that the example has the
-- same result at any hour. The moment lasts a second if a delivery waits for it, else a
-- microsecond.
INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end, priority)
VALUES ('RESTAURANT_USER', '10', 'SLACK', true, true, '00:00:00.000001', '00:00', 'NORMAL'), -- SLACK ignores quiet hours
       ('RESTAURANT_USER', '11', 'PUSH', false, false, NULL, NULL, 'NORMAL'),
       ('RESTAURANT_USER', '13', 'EMAIL', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('RESTAURANT_USER', '13', 'PUSH', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('AGENCY_USER', '30', 'WEBSOCKET', false, false, NULL, NULL, 'NORMAL'), -- mandatory messages are still sent
       ('AGENCY_USER', '30', 'EMAIL', false, false, NULL, NULL, 'NORMAL'),
       ('AGENCY_USER', '31', 'SMS', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('CUSTOMER', '43', 'EMAIL', true, false, NULL, NULL, 'HIGH'),
       ('CUSTOMER', '44', 'PUSH', false, false, NULL, NULL, 'NORMAL'),
       ('CUSTOMER', '46', 'PUSH', true, true, '00:00:01', '00:00', 'NORMAL'),
       ('CUSTOMER', '46', 'SMS', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('ADMIN', '2', 'WEBSOCKET', false, false, NULL, NULL, 'NORMAL')
ON CONFLICT (user_type, user_id, channel_type) DO UPDATE
SET    enabled             = excluded.enabled,
       quiet_hours_enabled = excluded.quiet_hours_enabled,
       quiet_hours_start   = excluded.quiet_hours_start,
       quiet_hours_end     = excluded.quiet_hours_end,
       priority            = excluded.priority
WHERE  (user_notification_preferences.enabled, user_notification_preferences.quiet_hours_enabled, user_notification_preferences.quiet_hours_start, user_notification_preferences.quiet_hours_end, user_notification_preferences.priority)
       IS DISTINCT FROM (excluded.enabled, excluded.quiet_hours_enabled, excluded.quiet_hours_start, excluded.quiet_hours_end, excluded.priority);
