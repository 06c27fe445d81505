-- Shorter comments on the tables that users fill. docs/reference.md is made of them.
-- +goose Up
COMMENT ON COLUMN event_type_recipients.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_recipients.entity_type IS 'CUSTOMER: the customer at entity_id_path. ADMIN: all active admins. BROADCAST: all active recipients. Any other word: the active members of that entity.';
COMMENT ON COLUMN event_type_recipients.entity_id_path IS 'Where the id is in the payload: restaurantId, customer.id. With commas, the first path that exists counts. @aggregate: aggregate_id, if aggregate_type is entity_type. Null for ADMIN and BROADCAST.';
COMMENT ON COLUMN event_type_channel_routing.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_channel_routing.mandatory IS 'true: nobody can switch the channel off, and max_recipients and frequency_cap do not apply. All other rules do.';
COMMENT ON COLUMN event_type_channel_routing.delivery_strategy IS 'IMMEDIATE: at once. DELAYED: after delay, or at send_at_path. AGGREGATE: in a digest for one recipient and channel, of at most 100 events.';
COMMENT ON COLUMN event_type_channel_routing.quiet_hours_action IS 'In quiet hours, mandatory or not. DROP: nothing is sent. DEFER: the delivery waits for their end, at most 48 hours. WEBSOCKET and SLACK have none.';
COMMENT ON COLUMN event_type_channel_routing.push_kind IS 'For PUSH. NOTIFICATION: the phone shows it; for an offline phone, Firebase may keep only the last. DATA: your app shows it; Firebase keeps a hundred.';
COMMENT ON COLUMN event_type_channel_routing.send_at_path IS 'For DELAYED: where the time of sending is in the payload: startsAt. With commas, the first path that exists counts. A string with a zone: 2026-11-23T09:30:00+01:00. A missing or malformed time makes the delivery FAILED. Null: delay counts.';
COMMENT ON COLUMN event_type_channel_routing.send_before IS 'Time between sending and the time at send_at_path, at most 365 days of 24 hours.';
COMMENT ON COLUMN event_type_channel_routing.skip_if_past IS 'If the time at send_at_path is past at planning. true: decision SKIPPED. false: it is sent at once.';
COMMENT ON COLUMN event_type_channel_routing.expires_after IS 'Nothing is sent over the channel from this time after event_outbox.created_at on: 1 second to 365 days of 24 hours. An earlier event_outbox.expires_at counts. Null: no limit.';
COMMENT ON COLUMN event_type_channel_routing.throttle_window IS 'For this time after an event of the type over the channel, a recipient gets no other with the same key (THROTTLED), mandatory or not: 1 second to 30 days. Null: no limit.';
COMMENT ON COLUMN event_type_channel_routing.throttle_key_path IS 'Where the key of throttle_window is in the payload: sensorId. With commas, the first path that exists counts. Events without a value share one key. Null: all events share one.';
COMMENT ON COLUMN event_type_channel_routing.digest_first IS 'For AGGREGATE: the first event is sent at once, and the digest collects what follows. Not with throttle_window.';
COMMENT ON COLUMN event_type_channel_routing.digest_at IS 'For AGGREGATE: time of the digest on the recipient''s clock, instead of digest_window. user_settings.digest_at replaces it. Null: digest_window counts.';
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: all. digest: of digests. REVIEW_POSTED.digest: of digests of one event type.';
COMMENT ON COLUMN notification_template.title IS 'Template of the title: one line of plain text. EMAIL needs one.';
COMMENT ON COLUMN event_type_escalation.if_unreachable IS 'true: a recipient without a usable address for from_channel is told over to_channel at once. false: nothing follows.';
COMMENT ON COLUMN entity_notification_settings.enabled IS 'false: the group switched the channel off (GROUP_DISABLED).';
COMMENT ON COLUMN entity_notification_settings.max_recipients IS 'Members that one event tells over the channel: MANAGER first, then by user_id. Recipients that another rule excludes do not count. 0: nobody. Null: any number.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_start IS 'Begin of the group''s quiet hours, inclusive. They hold for EMAIL, PUSH and SMS, mandatory or not. Null, as the end: none. Start = end: never quiet.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_timezone IS 'IANA time zone of the quiet hours. Null: the zone of each recipient.';
COMMENT ON COLUMN user_notification_preferences.enabled IS 'false: the recipient switched the channel off (USER_DISABLED).';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_enabled IS 'true: the recipient has quiet hours for EMAIL, PUSH or SMS, mandatory or not.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_start IS 'Begin of the quiet hours, inclusive, by user_settings.timezone, else recipient.timezone. Start = end: never quiet.';
COMMENT ON COLUMN event_outbox.event_type IS 'The kind of event: RESERVATION_REQUESTED. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_id IS 'Id of the aggregate; an integer inserts as well. Any word for ADMIN and BROADCAST. 1 to 100 bytes, printable; over 64 it finds no recipients.';
COMMENT ON COLUMN event_outbox.cancels IS 'The event_id of an event to cancel: its unsent messages are cancelled, also if it comes later. Null: none.';
COMMENT ON COLUMN event_outbox.collapse_key IS 'The event takes the place of older events of its type with the same key, for each recipient: at most 150 bytes. Null: it replaces none.';

-- +goose Down
-- The words stay: they hold for the version before, too.
SELECT 1;
