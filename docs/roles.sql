-- What Herald's roles may do. Run it as the migrator, again after each upgrade: docs/roles.md.
BEGIN;

-- The columns of a producer's INSERT, and of herald_emit, which has the rights of its caller. The others are Herald's.
REVOKE INSERT (cancels, cancels_types) ON event_outbox FROM herald_producer;
GRANT INSERT (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, traceparent, actor_type, actor_id, exclude) ON event_outbox TO herald_producer;

-- Directory and rules.
GRANT SELECT ON recipient, recipient_device, entity_member, event_type_recipients, event_type_channel_routing, entity_notification_settings,
                user_notification_preferences, event_category, user_category_preferences, user_settings, user_type, channel_user_type, notification_template,
                event_type_escalation, frequency_cap, event_type_approval, event_type_schema, notification_layout,
                entity_follow, entity_mute, entity_name TO herald_worker;
GRANT SELECT ON erased_recipient TO herald_worker, herald_gateway;
GRANT SELECT ON merged_recipient TO herald_gateway; -- the person that an old link or token means
GRANT UPDATE (active) ON recipient_device TO herald_worker;

-- Events and deliveries. A worker inserts events of other outboxes only.
GRANT SELECT, INSERT, UPDATE ON event_outbox, processed_event, notification_decision, notification, delivery_attempt, delivery_retry TO herald_worker;
GRANT SELECT, INSERT, UPDATE ON event_approval TO herald_worker;
GRANT SELECT (id, actor, command, target) ON operator_action TO herald_worker;
GRANT SELECT, INSERT, DELETE ON sweep TO herald_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON throttle, counted_message, delivery_count, sender_count TO herald_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON source_row, source_topic, source_start, source_position TO herald_worker;
GRANT SELECT, UPDATE (sent), DELETE ON lifecycle_event TO herald_worker; -- triggers write it as its owner
GRANT SELECT, INSERT, UPDATE ON channel_turn, provider_state, sender_state TO herald_worker;
GRANT SELECT ON delivery_receipt TO herald_worker; -- what harms a sender
GRANT DELETE ON channel_turn TO herald_worker;

-- A worker promotes its generation when it starts, and records that it did.
GRANT INSERT (actor, command, target, detail) ON operator_action TO herald_worker;
GRANT SELECT, INSERT, UPDATE ON recipient_suppression TO herald_worker;

-- What follows receipts, acknowledgements and readers, and deliveries that fail in a batch.
GRANT SELECT, INSERT, DELETE ON delivery_follow_up TO herald_worker;
GRANT INSERT ON delivery_follow_up TO herald_gateway;

-- Recipients at a gateway: their inbox and their settings, but neither names nor addresses. herald_has_address only
-- tells whether a person has the address that a link went to.
GRANT EXECUTE ON FUNCTION herald_has_address TO herald_gateway;
GRANT SELECT (user_type, user_id, locale, timezone, active) ON recipient TO herald_gateway;
REVOKE ALL ON notification FROM herald_gateway;
GRANT SELECT (id, event_id, event_type, correlation_id, user_type, user_id, channel, delivery_id, title, body, url, status, attempt_count,
              created_at, available_at, attempt_began, sent_at, delivered_at, read_at, collapse_key, replaced_by, entity_type, entity_id, member_role) ON notification TO herald_gateway;
GRANT SELECT, UPDATE (status, available_at, sent_at, delivered_at, read_at, last_error, receipt_failed) ON notification_state TO herald_gateway;
GRANT SELECT (delivery_id, started_at) ON delivery_attempt TO herald_gateway;
GRANT SELECT ON event_type_recipients, event_type_channel_routing, event_category, user_type, channel_user_type, notification_template, frequency_cap,
                event_type_approval, event_type_schema, notification_layout TO herald_gateway; -- a gateway with INGEST_AUDIENCE checks events by all rules
GRANT SELECT, INSERT, UPDATE ON user_notification_preferences, user_category_preferences, user_settings TO herald_gateway;
GRANT SELECT, INSERT, DELETE ON entity_follow, entity_mute TO herald_gateway;
GRANT UPDATE (level) ON entity_follow TO herald_gateway;
GRANT SELECT ON entity_name TO herald_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON gateway_ticket TO herald_gateway;

-- Devices that recipients register at a gateway. It can read tokens, which are of no use without the worker's account at Firebase, or its key of Web Push.
-- Leave this out if recipient_device is your view.
GRANT SELECT, INSERT, DELETE, UPDATE (active, registered_at) ON recipient_device TO herald_gateway;

-- What providers say of messages, and what follows from it.
GRANT SELECT, INSERT ON delivery_receipt TO herald_gateway;
GRANT SELECT (delivery_id, message_id_before) ON delivery_retry TO herald_gateway;
GRANT SELECT (event_id, traceparent) ON event_outbox TO herald_gateway; -- the trace of a receipt
GRANT SELECT ON event_type_escalation TO herald_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON recipient_suppression TO herald_gateway;

-- A gateway reads texts of WEBSOCKET alone, and lifts a suppression only where somebody answered START.
ALTER TABLE notification ENABLE ROW LEVEL SECURITY;
ALTER TABLE recipient_suppression ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS herald_worker ON notification;
DROP POLICY IF EXISTS herald_gateway ON notification;
DROP POLICY IF EXISTS herald_worker ON recipient_suppression;
DROP POLICY IF EXISTS herald_gateway ON recipient_suppression;
DROP POLICY IF EXISTS herald_gateway_delete ON recipient_suppression;
CREATE POLICY herald_worker ON notification TO herald_worker USING (true);
CREATE POLICY herald_gateway ON notification FOR SELECT TO herald_gateway USING (channel = 'WEBSOCKET');
CREATE POLICY herald_worker ON recipient_suppression TO herald_worker USING (true);
CREATE POLICY herald_gateway ON recipient_suppression TO herald_gateway USING (true);
CREATE POLICY herald_gateway_delete ON recipient_suppression AS RESTRICTIVE FOR DELETE TO herald_gateway USING (reason = 'OPT_OUT');

-- All of them know the fingerprints of HERALD_SECRET and the version of the schema.
GRANT SELECT, INSERT, UPDATE (superseded_at) ON herald_secret TO herald_worker, herald_gateway;
GRANT SELECT ON herald_migrations TO herald_worker, herald_gateway;

-- Operators order the pollers; a worker compares them with Temporal.
GRANT SELECT ON poller TO herald_worker;
GRANT INSERT, UPDATE (paused_since), DELETE ON poller TO herald_operator;

-- Operators see what `starter rules apply` wrote. The migrator applies rules, as it owns their tables.
GRANT SELECT ON applied_rule TO herald_operator;

-- Operators also purge, let suppressed addresses be written to again, replace the secret, and write the record of who did what.
-- They can neither change it nor write in another role's name: the database fills db_user in.
GRANT DELETE ON event_outbox, processed_event, notification_decision, notification, delivery_attempt, delivery_retry, recipient_suppression TO herald_operator;
GRANT SELECT, UPDATE, DELETE ON delivery_receipt TO herald_operator;
-- Triggers write the rows as the table's owner.
GRANT SELECT, DELETE ON preference_change TO herald_operator;

-- Operators erase and merge people. Herald changes nothing in your views.
GRANT INSERT ON erased_recipient, delivery_follow_up TO herald_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON merged_recipient TO herald_operator;
GRANT SELECT, DELETE ON recipient, recipient_device, entity_member, user_notification_preferences, user_category_preferences, user_settings, entity_follow, entity_mute, gateway_ticket TO herald_operator;
GRANT UPDATE (user_type, user_id) ON recipient_device, user_notification_preferences, user_category_preferences, user_settings, entity_follow, entity_mute TO herald_operator;
GRANT UPDATE (rekeyed_at), DELETE ON herald_secret TO herald_operator;
REVOKE INSERT ON operator_action FROM herald_operator;
GRANT SELECT, INSERT (actor, command, target, detail, form) ON operator_action TO herald_operator;

COMMIT;
