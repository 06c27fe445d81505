-- Events in each state. withDelivery has more rows.
INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at, error_message, cancels, expires_at, collapse_key)
VALUES ('pending', 'BOOKED', 'RESTAURANT', '5', '{}', 'PENDING', NULL, '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('failed', 'BOOKED', 'RESTAURANT', '5', '{}', 'FAILED', NULL, '2026-11-21 08:00Z', 'claimed 10 times without a start', NULL, NULL, NULL),
       ('unrouted', 'OTHER', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('nobody', 'BOOKED', 'RESTAURANT', '6', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('problem', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('incomplete', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('rejected', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('asks', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('unplanned', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('ended', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, '2040-01-01 08:00Z', 'table-4'),
       ('withdrawn', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('withdraws', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, 'withdrawn', NULL, NULL),
       ('mistyped', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, 'nothing', NULL, NULL),
       ('empty', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
       ('empties', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, 'empty', NULL, NULL),
       ('late', 'LATE', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL);
INSERT INTO processed_event (event_id, status, outcome, problem, updated_at)
VALUES ('unrouted', 'SUCCESS', 'NO_ROUTING', 'no rows', '2026-11-21 08:02Z'), ('nobody', 'SUCCESS', 'NO_RECIPIENTS', 'nobody', '2026-11-21 08:02Z'),
       ('problem', 'SUCCESS', 'PROBLEM', 'a rule names nobody', '2026-11-21 08:02Z'), ('incomplete', 'SUCCESS', 'INCOMPLETE', NULL, '2026-11-21 08:02Z'),
       ('rejected', 'SUCCESS', 'REJECTED', NULL, '2026-11-21 08:02Z'), ('asks', 'PROCESSING', NULL, NULL, '2026-11-21 08:02Z'),
       ('unplanned', 'FAILED', 'FAILED', 'too many', '2026-11-21 08:02Z'), ('ended', 'SUCCESS', NULL, NULL, '2026-11-21 08:02Z'),
       ('withdrawn', 'FAILED', 'CANCELLED', NULL, '2026-11-21 08:02Z'), ('withdraws', 'SUCCESS', NULL, NULL, '2026-11-21 08:02Z');
UPDATE processed_event SET updated_at = '2026-11-21 08:02Z';
INSERT INTO event_approval (event_id, asked_at, answer, answered_by, reason, answered_at)
VALUES ('asks', '2026-11-21 08:02Z', NULL, NULL, NULL, NULL), ('rejected', '2026-11-21 08:02Z', 'REJECTED', 'ada', 'not today', '2026-11-21 08:03Z');
UPDATE event_outbox SET published_at = '2026-11-21 08:01Z' WHERE event_id = 'evt-1';
UPDATE event_outbox SET acknowledged_at = '2026-11-21 08:01Z', produced_at = '2026-11-21 08:02Z' WHERE event_id = 'ended';
UPDATE event_outbox SET actor_type = 'RESTAURANT_USER', actor_id = '10', exclude = '{ADMIN/1,ADMIN/2}' WHERE event_id = 'ended';
UPDATE event_outbox SET source = 'orders' WHERE event_id = 'incomplete';
UPDATE event_outbox SET lease_owner = 'poller', lease_until = '2040-01-01 08:00Z', attempt_count = 2 WHERE event_id = 'pending';

-- Deliveries in each state.
INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, digest_window, delay, send_at_path, send_before, quiet_hours_action, priority, on_escalation_only, expires_after)
VALUES ('LATE', 'EMAIL', false, 'DELAYED', DEFAULT, '1 hour', NULL, DEFAULT, 'DEFER', 'HIGH', false, NULL),
       ('LATE', 'SMS', true, 'DELAYED', DEFAULT, DEFAULT, 'start', '1 day', 'IGNORE', NULL, true, '2 days'),
       ('LATE', 'PUSH', false, 'AGGREGATE', '2 hours', DEFAULT, NULL, DEFAULT, 'DROP', NULL, false, NULL);
UPDATE event_type_channel_routing SET roles = '{CHEF,MANAGER}' WHERE event_type = 'LATE' AND channel_type = 'EMAIL';
INSERT INTO notification_template (event_type, title, body) VALUES ('LATE', 'Late', 'Hello {{.recipient.user_id}}');
INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES ('BOOKED', 'EMAIL', 'SMS', '5 minutes', 'READ');
INSERT INTO recipient (user_type, user_id, email, phone, timezone) SELECT 'RESTAURANT_USER', id, 'a' || id || '@example.com', '+12025550110', 'Europe/Rome'
FROM unnest('{sent,arrived,bounced,cancelled,optedout,left,expired,replaced,sentreplaced,erased,notext,waits,late,item,started,due,withdrawn}'::text[]) AS id;
INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' FROM recipient WHERE user_id NOT IN ('10', '42', 'left');
INSERT INTO erased_recipient (user_type, user_id, erased_at) VALUES ('RESTAURANT_USER', 'erased', '2026-11-21 09:00Z');
INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
SELECT 'ended', user_type, user_id, '2026-11-21 08:00Z', '{"EMAIL":"SELECTED","SMS":"NO_ADDRESS"}' FROM recipient WHERE user_id NOT IN ('10', '42', 'withdrawn');
INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels, throttled_by)
VALUES ('ended', 'CUSTOMER', '42', '2026-11-21 08:00Z', '{"EMAIL":"THROTTLED","SMS":"SELECTED"}', '{"EMAIL": "evt-0-customer42-EMAIL"}');
INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body, status, last_error, created_at, sent_at, delivered_at)
SELECT CASE user_id WHEN 'withdrawn' THEN user_id ELSE 'ended' END, 'BOOKED', user_type, user_id, 'RESTAURANT', '5', 'EMAIL', user_id, 'Table for 4', 'hello Giulia',
       CASE WHEN user_id IN ('sent', 'sentreplaced') THEN 'SENT' WHEN user_id = 'arrived' THEN 'DELIVERED' WHEN user_id IN ('bounced', 'notext') THEN 'FAILED'
            WHEN user_id IN ('waits', 'late', 'item', 'started', 'due') THEN 'PENDING' ELSE 'CANCELLED' END,
       CASE user_id WHEN 'bounced' THEN '550 no such mailbox' WHEN 'notext' THEN 'no template' WHEN 'cancelled' THEN 'cancelled by ada' WHEN 'optedout' THEN 'USER_DISABLED'
            WHEN 'left' THEN 'no longer a recipient' WHEN 'expired' THEN 'EXPIRED' WHEN 'replaced' THEN 'replaced by event evt-9' WHEN 'withdrawn' THEN 'cancelled by event withdraws' END,
       '2026-11-21 08:00Z', CASE WHEN user_id IN ('sent', 'sentreplaced', 'arrived', 'bounced') THEN timestamptz '2026-11-21 08:01Z' END,
       CASE user_id WHEN 'arrived' THEN timestamptz '2026-11-21 08:02Z' END
FROM   recipient WHERE user_id NOT IN ('10', '42');
UPDATE notification SET receipt_failed = true, provider = 'sendgrid', provider_message_id = 'm-1' WHERE delivery_id = 'bounced';
UPDATE notification SET title = NULL, body = NULL WHERE delivery_id = 'notext';
UPDATE notification SET read_at = '2026-11-21 08:03Z', escalates = true WHERE delivery_id = 'arrived';
UPDATE notification SET replaced_by = 'evt-9' WHERE delivery_id IN ('replaced', 'sentreplaced');
UPDATE notification SET send_after = '2040-01-01 08:00Z' WHERE delivery_id IN ('waits', 'late', 'evt-1-staff10-SMS');
UPDATE notification SET strategy = 'DELAYED', priority = 'HIGH', expires_at = '2040-01-02 08:00Z', escalates = true WHERE delivery_id = 'late';
UPDATE notification SET strategy = 'AGGREGATE', digest_id = 'digest-1', send_after = '2040-01-01 08:00Z' WHERE delivery_id = 'item';
UPDATE notification SET attempt_owner = 'o', attempt_until = '2040-01-01 08:00Z', attempt_began = '2026-11-21 08:05Z', attempt_count = 1 WHERE delivery_id = 'started';
UPDATE notification SET escalated_from = 'evt-1-staff10-EMAIL' WHERE delivery_id = 'evt-1-staff10-SMS';
UPDATE notification SET escalates = true WHERE delivery_id = 'evt-1-staff10-EMAIL';
INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, received_at, status, outcome, detail)
VALUES ('sendgrid', 'r-1', 'bounced', 'm-1', '2026-11-21 08:02Z', '2026-11-21 08:02:01Z', 'bounce', 'FAILED', '550 no such mailbox'),
       ('sendgrid', 'r-0', 'bounced', 'm-0', '2026-11-21 08:01Z', '2026-11-21 08:01:02Z', 'dropped', 'FAILED', E'Bounced \x1b[31mAddress'),
       ('sendgrid', 'r-2', 'sent', 'm-2', '2026-11-21 08:02Z', '2026-11-21 08:02:01Z', 'deferred', NULL, NULL);
INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body, created_at)
VALUES ('purged', 'BOOKED', 'RESTAURANT_USER', '10', 'RESTAURANT', '5', 'EMAIL', 'purged', 'Table for 4', 'hello Giulia', '2026-11-21 08:00Z'),
       ('purged', 'BOOKED', 'RESTAURANT_USER', 'waits', NULL, NULL, 'EMAIL', 'purgedunnamed', 'Table for 4', 'hello Giulia', '2026-11-21 08:00Z');
INSERT INTO delivery_retry (delivery_id, run_id, retried_at, again, status_before, message_id_before)
VALUES ('bounced', 'run-1', '2026-11-21 08:00:30Z', true, 'SENT', 'm-0');
INSERT INTO operator_action (at, actor, command, target, detail) VALUES ('2026-11-21 08:04Z', 'ada', 'delivery cancel', 'cancelled', 'a mistake');
