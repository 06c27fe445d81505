-- Mistakes in the directory's tables, the rules, the templates and the channels.
UPDATE recipient SET timezone = 'europe/rome', slack_webhook_url = 'https://evil.example.com/services/secret', webhook_url = 'http://hooks.example.com/secret' WHERE user_id = '42';
UPDATE recipient SET email = ' secret @example.com', phone = '+41 (0)79 123 45 67', locale = 'de' WHERE user_id = '43';
UPDATE entity_notification_settings SET quiet_hours_timezone = 'PST', allowed_roles = '{BOSS}' WHERE entity_id = '5';
INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('CUSTOMER', '42', 'PST'), ('CUSTOMER', '43', 'ada@example.com');

INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
VALUES ('PATH_LIST', 'CUSTOMER', 'CUSTOMER', '$.customers[0].id', NULL),
       ('PATH_VAIN', 'CUSTOMER', 'CUSTOMER', 'customer_id', NULL),
       ('KEYLESS', 'CUSTOMER', 'CUSTOMER', 'customerId', NULL),
       ('NOBODY', 'GUEST', 'CUSTOMER', 'guestId', NULL),
       ('NOBODY', NULL, 'CLINIC', 'clinicId', NULL),
       ('NOBODY', 'GUEST', 'RESTAURANT', 'restaurantId', NULL),
       ('NOBODY', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', '{MANAGERS}'),
       ('NOBODY', NULL, 'AGENCY', 'agencyId', '{BOSS,CHIEF}'),
       ('UNSERVED', 'ADMIN', 'ADMIN', 'adminId', NULL);
INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, send_at_path, throttle_window, throttle_key_path, expires_after, mandatory, roles)
VALUES ('KEYLESS', 'EMAIL', 'IMMEDIATE', '0', NULL, '1 hour', 'sensor', NULL, false, NULL),
       ('NAMELESS', 'EMAIL', 'IMMEDIATE', '0', NULL, NULL, NULL, NULL, false, NULL),
       ('PATH_LIST', 'EMAIL', 'DELAYED', '0', '$.at', NULL, NULL, NULL, false, NULL),
       ('PATH_LIST', 'SMS', 'IMMEDIATE', '0', NULL, '1 hour', '$.key', NULL, false, NULL),
       ('PATH_VAIN', 'EMAIL', 'IMMEDIATE', '0', NULL, NULL, NULL, NULL, false, NULL),
       ('ROLE_VACANT', 'EMAIL', 'IMMEDIATE', '0', NULL, NULL, NULL, NULL, false, '{MANAGER,BOSS}'),
       ('ROLES_NONE', 'EMAIL', 'IMMEDIATE', '0', NULL, NULL, NULL, NULL, false, '{}'),
       ('TIMELESS', 'EMAIL', 'DELAYED', '0', 'at', NULL, NULL, NULL, false, NULL),
       ('UNSERVED', 'SMS', 'IMMEDIATE', '0', NULL, NULL, NULL, NULL, false, NULL),
       ('EXPIRED', 'EMAIL', 'DELAYED', '1 hour', NULL, NULL, NULL, '30 minutes', false, NULL),
       ('SILENCED', 'SMS', 'IMMEDIATE', '0', NULL, NULL, NULL, '10 minutes', true, NULL);
INSERT INTO frequency_cap (channel_type, category, spacing, at_most, per) VALUES ('EMAIL', 'promotions', '1 hour', NULL, NULL), ('SMS', NULL, '1 hour', 3, '2 hours');
INSERT INTO event_type_schema (event_type, payload_schema)
VALUES ('KEY_MISSING', '{"required": ["name"], "properties": {"title": {"type": "string"}}}'), ('ROLES_NONE', '{"properties": {"at": {"type": "time"}}}');
INSERT INTO event_type_approval (event_type, over) SELECT 'UNROUTED_' || lpad(n::text, 2, '0'), 1000 FROM generate_series(1, 12) n;
UPDATE event_category SET category = 'promotions2' WHERE category = 'offers';
INSERT INTO event_category (event_type, category) VALUES ('*', 'offers2');

DELETE FROM event_type_escalation WHERE from_channel = 'SMS';
INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, on_escalation_only)
VALUES ('DIGEST', 'EMAIL', 'IMMEDIATE', true), ('DIGEST', 'SMS', 'AGGREGATE', false), ('UNREAD', 'EMAIL', 'IMMEDIATE', true), ('UNREAD', 'SMS', 'IMMEDIATE', false);
INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES ('DIGEST', 'SMS', 'EMAIL', '1 hour', 'DELIVERED'), ('UNREAD', 'SMS', 'EMAIL', '1 hour', 'READ');
DELETE FROM channel_user_type WHERE channel_type = 'SLACK';

DELETE FROM notification_template WHERE event_type = '*' AND channel <> 'EMAIL';
INSERT INTO notification_template (event_type, channel, locale, title, body, url)
VALUES ('BAD_BODY', 'SMS', 'en', 'x', '{{.payload.', NULL),
       ('BAD_URL', 'SMS', 'en', 'x', 'x', 'javascript:alert({{.payload.id}})'),
       ('CHAT_MESSAGE_SENT', '*', 'en', 'x', 'x', NULL),
       ('KEY_MISSING', '*', 'en', '{{.payload.title}}', '{{.payload.name}}', NULL),
       ('LINK_MISSING', '*', 'en', 'x', 'x', '/orders/{{.payload.id}}'),
       ('digest', 'EMAIL', 'de', 'x', '{{(index .Items 3).Title}}', NULL);
INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('KEY_MISSING', 'EMAIL'), ('LINK_MISSING', 'WEBSOCKET'), ('LINK_MISSING', 'EMAIL');

INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
VALUES ('evt-1', 'UNROUTED', 'CUSTOMER', '42', '{}'),
       ('evt-2', 'NAMELESS', 'ORDER', '5', '{}'),
       ('evt-3', 'PATH_VAIN', 'ORDER', '5', '{"customerId": 42}'),
       ('evt-4', 'TIMELESS', 'CUSTOMER', '42', '{"at": "tomorrow"}'),
       ('evt-5', 'KEYLESS', 'ORDER', '5', '{"customerId": 42}'),
       ('evt-6', 'KEY_MISSING', 'CUSTOMER', '42', '{"title": "x"}'),
       ('evt-7', 'KEY_MISSING', 'CUSTOMER', '42', '{"title": "x", "name": "y"}'),
       ('evt-8', 'LINK_MISSING', 'CUSTOMER', '42', '{"title": "x"}');
