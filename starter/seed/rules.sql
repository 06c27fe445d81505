-- The rules: which event types notify which people, over which channels. With events.json they
-- show every decision.

-- Of several paths, the first path that exists in the payload is used. @aggregate is the event's
-- aggregate_id, if the aggregate has the entity's type.
INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
VALUES ('RESERVATION_REQUESTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId,restaurant_id,@aggregate', '{MANAGER,CHEF,WAITER}'),
       ('RESERVATION_CONFIRMED', 'CUSTOMER', 'CUSTOMER', 'customer.id,customerId,customer_id,@aggregate', NULL),
       ('RESERVATION_CANCELLED', 'CUSTOMER', 'CUSTOMER', 'customer.id,customerId,customer_id,@aggregate', NULL),
       ('RESERVATION_CANCELLED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId,restaurant_id,@aggregate', '{MANAGER}'),
       ('RESERVATION_REMINDER', 'CUSTOMER', 'CUSTOMER', 'customer.id,customerId,customer_id,@aggregate', NULL),
       ('PARTNER_ASSIGNMENT', 'AGENCY_USER', 'AGENCY', 'agencyId,agency_id,@aggregate', '{AGENT,MANAGER}'),
       ('REVIEW_POSTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId,restaurant_id,@aggregate', '{MANAGER,CHEF}'),
       ('OrderCreated', 'CUSTOMER', 'CUSTOMER', 'customerId', NULL) -- from the order service, which has a separate outbox
ON CONFLICT ON CONSTRAINT event_type_recipients_once DO UPDATE
SET    roles = excluded.roles
WHERE  event_type_recipients.roles IS DISTINCT FROM excluded.roles;

-- SYSTEM_ALERT, PROMOTION, CHAT_MESSAGE_SENT, TABLE_READY and TABLE_OFFERED have no rows above:
-- their aggregate selects the recipients. MENU_UPDATED has no row below: it has no routes.
INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, delay, quiet_hours_action, priority)
VALUES ('RESERVATION_REQUESTED', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('RESERVATION_REQUESTED', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REQUESTED', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REQUESTED', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CONFIRMED', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CANCELLED', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CANCELLED', 'EMAIL', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_CANCELLED', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('RESERVATION_REMINDER', 'EMAIL', false, 'DELAYED', '2 seconds', 'DROP', NULL),
       ('RESERVATION_REMINDER', 'PUSH', false, 'IMMEDIATE', '0', 'DEFER', NULL),
       ('RESERVATION_REMINDER', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('PARTNER_ASSIGNMENT', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('SYSTEM_ALERT', 'WEBSOCKET', false, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('SYSTEM_ALERT', 'EMAIL', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('SYSTEM_ALERT', 'SMS', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'), -- admins may not get SMS
       ('SYSTEM_ALERT', 'SLACK', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('PROMOTION', 'WEBSOCKET', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('PROMOTION', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('PROMOTION', 'PUSH', false, 'IMMEDIATE', '0', 'DROP', 'LOW'),
       ('CHAT_MESSAGE_SENT', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('TABLE_READY', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('TABLE_READY', 'PUSH', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('TABLE_READY', 'SMS', true, 'IMMEDIATE', '0', 'DROP', 'HIGH'),
       ('OrderCreated', 'WEBSOCKET', true, 'IMMEDIATE', '0', 'DROP', NULL),
       ('OrderCreated', 'EMAIL', false, 'IMMEDIATE', '0', 'DROP', NULL),
       ('OrderCreated', 'SMS', false, 'IMMEDIATE', '0', 'DROP', NULL)
ON CONFLICT (event_type, channel_type) DO UPDATE
SET    mandatory          = excluded.mandatory,
       delivery_strategy  = excluded.delivery_strategy,
       delay              = excluded.delay,
       quiet_hours_action = excluded.quiet_hours_action,
       priority           = excluded.priority
WHERE  (event_type_channel_routing.mandatory, event_type_channel_routing.delivery_strategy, event_type_channel_routing.delay, event_type_channel_routing.quiet_hours_action, event_type_channel_routing.priority)
       IS DISTINCT FROM (excluded.mandatory, excluded.delivery_strategy, excluded.delay, excluded.quiet_hours_action, excluded.priority);

-- A review appears on the screen immediately. One e-mail, a digest, has all reviews of 3 seconds.
INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, quiet_hours_action)
VALUES ('REVIEW_POSTED', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', 'DROP'),
       ('REVIEW_POSTED', 'SLACK', 'IMMEDIATE', '5 minutes', 'DROP'),
       ('REVIEW_POSTED', 'EMAIL', 'AGGREGATE', '3 seconds', 'DROP')
ON CONFLICT (event_type, channel_type) DO UPDATE
SET    delivery_strategy  = excluded.delivery_strategy,
       digest_window      = excluded.digest_window,
       quiet_hours_action = excluded.quiet_hours_action
WHERE  (event_type_channel_routing.delivery_strategy, event_type_channel_routing.digest_window, event_type_channel_routing.quiet_hours_action)
       IS DISTINCT FROM (excluded.delivery_strategy, excluded.digest_window, excluded.quiet_hours_action);

-- Herald offers a free table to somebody on the waiting list. If they do not read the offer within
-- five minutes, they get an SMS. If the SMS does not arrive, an e-mail asks them to check their
-- number.
INSERT INTO event_type_channel_routing (event_type, channel_type, on_escalation_only, priority)
VALUES ('TABLE_OFFERED', 'WEBSOCKET', false, 'HIGH'),
       ('TABLE_OFFERED', 'PUSH', false, 'HIGH'),
       ('TABLE_OFFERED', 'SMS', true, 'HIGH'),
       ('TABLE_OFFERED', 'EMAIL', true, 'HIGH')
ON CONFLICT (event_type, channel_type) DO UPDATE
SET    on_escalation_only = excluded.on_escalation_only,
       priority           = excluded.priority
WHERE  (event_type_channel_routing.on_escalation_only, event_type_channel_routing.priority)
       IS DISTINCT FROM (excluded.on_escalation_only, excluded.priority);

INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until)
VALUES ('TABLE_OFFERED', 'PUSH', 'SMS', '5 minutes', 'READ'),
       ('TABLE_OFFERED', 'SMS', 'EMAIL', '1 hour', 'DELIVERED')
ON CONFLICT (event_type, from_channel) DO UPDATE
SET    to_channel = excluded.to_channel,
       after      = excluded.after,
       until      = excluded.until
WHERE  (event_type_escalation.to_channel, event_type_escalation.after, event_type_escalation.until)
       IS DISTINCT FROM (excluded.to_channel, excluded.after, excluded.until);

INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, max_recipients, allowed_roles)
VALUES ('RESTAURANT', '5', 'SMS', NULL, true, NULL, '{MANAGER}'),
       ('RESTAURANT', '7', 'SMS', NULL, false, NULL, NULL),
       ('RESTAURANT', '7', 'SMS', 'RESERVATION_CANCELLED', true, NULL, NULL), -- overrides the row above
       ('RESTAURANT', '7', 'EMAIL', NULL, true, 1, NULL),
       ('RESTAURANT', '7', 'PUSH', NULL, true, NULL, '{MANAGER,CHEF}'),
       ('CUSTOMER', '0', 'PUSH', 'PROMOTION', false, NULL, NULL) -- for all customers
ON CONFLICT ON CONSTRAINT entity_notification_settings_once DO UPDATE
SET    enabled        = excluded.enabled,
       max_recipients = excluded.max_recipients,
       allowed_roles  = excluded.allowed_roles
WHERE  (entity_notification_settings.enabled, entity_notification_settings.max_recipients, entity_notification_settings.allowed_roles)
       IS DISTINCT FROM (excluded.enabled, excluded.max_recipients, excluded.allowed_roles);

-- Categories: people can turn off all event types of a category together.
INSERT INTO event_category (event_type, category)
VALUES ('PROMOTION', 'offers'),
       ('REVIEW_POSTED', 'reviews'),
       ('RESERVATION_REMINDER', 'reminders')
ON CONFLICT (event_type) DO UPDATE
SET    category = excluded.category
WHERE  event_category.category IS DISTINCT FROM excluded.category;

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
