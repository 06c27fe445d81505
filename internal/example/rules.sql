-- Who hears of what, over which channel. Together with events.json, enough to show every decision.

INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
VALUES ('RESERVATION_REQUESTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', NULL),
       ('RESERVATION_CONFIRMED', 'CUSTOMER', 'CUSTOMER', 'customer.id', NULL),
       ('RESERVATION_CONFIRMED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', '{MANAGER}'),
       ('RESERVATION_REMINDER', 'CUSTOMER', 'CUSTOMER', 'customer.id', NULL),
       ('REVIEW_POSTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', '{MANAGER,CHEF}')
ON CONFLICT ON CONSTRAINT event_type_recipients_once DO UPDATE
SET    roles = excluded.roles;

-- PARTNER_ASSIGNMENT, SYSTEM_ALERT, PROMOTION and TABLE_READY have no rows above: their aggregate decides.
-- MENU_UPDATED has no row below: it is routed nowhere.
INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, delay, quiet_hours_action, priority)
VALUES ('RESERVATION_REQUESTED', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('RESERVATION_REQUESTED', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REQUESTED', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REQUESTED', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REQUESTED', 'SLACK', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'EMAIL', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REMINDER', 'EMAIL', false, 'DELAYED', '2 seconds', 'DROP', NULL),
       ('RESERVATION_REMINDER', 'PUSH', false, 'IMMEDIATE', '0', 'DEFER', NULL),
       ('RESERVATION_REMINDER', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'WEBSOCKET', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'EMAIL', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('SYSTEM_ALERT', 'WEBSOCKET', false, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('SYSTEM_ALERT', 'EMAIL', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('SYSTEM_ALERT', 'SMS', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'), -- which may not serve admins
       ('SYSTEM_ALERT', 'SLACK', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('PROMOTION', 'WEBSOCKET', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('PROMOTION', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('PROMOTION', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('TABLE_READY', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('TABLE_READY', 'PUSH', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('TABLE_READY', 'SMS', true, 'IMMEDIATE', '0', 'DROP', 'HIGH')
ON CONFLICT (event_type, channel_type) DO UPDATE
SET    mandatory          = excluded.mandatory,
       delivery_strategy  = excluded.delivery_strategy,
       delay              = excluded.delay,
       quiet_hours_action = excluded.quiet_hours_action,
       priority           = excluded.priority;

-- Reviews show at once on the screen, and come together in one mail.
INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, quiet_hours_action)
VALUES ('REVIEW_POSTED', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', 'DROP'),
       ('REVIEW_POSTED', 'EMAIL', 'AGGREGATE', '3 seconds', 'DROP')
ON CONFLICT (event_type, channel_type) DO UPDATE
SET    delivery_strategy  = excluded.delivery_strategy,
       digest_window      = excluded.digest_window,
       quiet_hours_action = excluded.quiet_hours_action;

INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, max_recipients, allowed_roles)
VALUES ('RESTAURANT', '5', 'SMS', NULL, true, NULL, '{MANAGER}'),
       ('RESTAURANT', '7', 'SMS', NULL, false, NULL, NULL),
       ('RESTAURANT', '7', 'SMS', 'RESERVATION_CONFIRMED', true, NULL, NULL), -- beats the row above
       ('RESTAURANT', '7', 'EMAIL', NULL, true, 1, NULL),
       ('RESTAURANT', '7', 'PUSH', NULL, true, NULL, '{MANAGER,CHEF}'),
       ('CUSTOMER', '0', 'PUSH', 'PROMOTION', false, NULL, NULL) -- of all customers
ON CONFLICT ON CONSTRAINT entity_notification_settings_once DO UPDATE
SET    enabled        = excluded.enabled,
       max_recipients = excluded.max_recipients,
       allowed_roles  = excluded.allowed_roles;

-- Quiet hours here last all day but for a moment after midnight, so that the example ends alike at any hour. The moment is
-- a second where a delivery waits for it, and a microsecond elsewhere.
INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end, priority)
VALUES ('RESTAURANT_USER', '10', 'SLACK', true, true, '00:00:00.000001', '00:00', 'NORMAL'), -- which is never quieted
       ('RESTAURANT_USER', '11', 'PUSH', false, false, NULL, NULL, 'NORMAL'),
       ('RESTAURANT_USER', '13', 'EMAIL', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('RESTAURANT_USER', '13', 'PUSH', true, true, '00:00:00.000001', '00:00', 'NORMAL'),
       ('AGENCY_USER', '30', 'EMAIL', false, false, NULL, NULL, 'NORMAL'), -- does not keep what is mandatory away
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
       priority            = excluded.priority;
