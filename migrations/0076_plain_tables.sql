-- The comments on tables, in plain English. docs/reference.md is made of them.
-- +goose Up
COMMENT ON TABLE event_type_recipients IS 'The recipients of an event type. A row names a group or a person. A recipient in several rows is told once. Without a row the aggregate decides: RESTAURANT, its active members; AGENCY, its members with the role AGENT or MANAGER; CUSTOMER, that customer; ADMIN, all active admins; BROADCAST, all active recipients.';
COMMENT ON COLUMN event_type_recipients.id IS 'Number of the row.';
COMMENT ON COLUMN event_type_recipients.user_type IS 'Only recipients of this user_type. Null: any type.';
COMMENT ON COLUMN event_type_recipients.entity_type IS 'CUSTOMER: the customer whose id is at entity_id_path. ADMIN: all active admins. BROADCAST: all active recipients. Any other word: the active members of that entity.';
COMMENT ON COLUMN event_type_recipients.entity_id_path IS 'Where the id is in the payload: restaurantId, customer.id. Several paths with commas: the first that exists counts. @aggregate: the event''s aggregate_id, if its aggregate_type is entity_type. Null for ADMIN and BROADCAST.';
COMMENT ON COLUMN event_type_recipients.roles IS 'Only members with one of these roles. Null: any role. Empty: nobody. CUSTOMER, ADMIN and BROADCAST ignore it.';
COMMENT ON TABLE event_type_channel_routing IS 'The channels of an event type. An event type without a row tells nobody (NO_ROUTING).';
COMMENT ON COLUMN event_type_channel_routing.event_type IS 'event_outbox.event_type; * has no meaning here.';
COMMENT ON COLUMN event_type_channel_routing.mandatory IS 'true: ignores that the recipient or the entity switched the channel off, and max_recipients. Quiet hours, allowed_roles and channel_user_type still apply.';
COMMENT ON COLUMN event_type_channel_routing.delivery_strategy IS 'IMMEDIATE: at once. DELAYED: after delay, or at the time at send_at_path. AGGREGATE: in a digest of all events of the type for one recipient and channel within digest_window, at most 100.';
COMMENT ON COLUMN event_type_channel_routing.delay IS 'For DELAYED: time from planning to sending, at most 30 days; 0 with send_at_path.';
COMMENT ON COLUMN event_type_channel_routing.digest_window IS 'For AGGREGATE: time from the first event to the digest, 1 second to 7 days.';
COMMENT ON COLUMN event_type_channel_routing.quiet_hours_action IS 'In quiet hours, mandatory or not. DROP: nothing is sent. DEFER: the delivery waits for their end; if they do not end within 48 hours, nothing is sent. WEBSOCKET and SLACK have no quiet hours.';
COMMENT ON COLUMN event_type_channel_routing.priority IS 'HIGH, NORMAL or LOW: the order of waiting deliveries. Null: the recipient''s preference, else NORMAL.';
COMMENT ON COLUMN event_type_channel_routing.push_kind IS 'For PUSH. NOTIFICATION: the phone shows it; Firebase may keep only the last for an offline phone. DATA: your app shows it; Firebase keeps a hundred for an offline phone.';
COMMENT ON COLUMN event_type_channel_routing.send_at_path IS 'For DELAYED: where the time of sending is in the payload, such as startsAt. Several paths with commas: the first that exists counts. The time is a string with a zone: 2026-11-23T09:30:00+01:00. A missing or malformed time makes the delivery FAILED. Null: delay counts.';
COMMENT ON COLUMN event_type_channel_routing.send_before IS 'Time between sending and the time at send_at_path, at most 365 days. A day has 24 hours.';
COMMENT ON COLUMN event_type_channel_routing.skip_if_past IS 'If the time at send_at_path is past at planning. true: no delivery, decision SKIPPED. false: it is sent at once.';
COMMENT ON COLUMN event_type_channel_routing.on_escalation_only IS 'true: only event_type_escalation uses the channel.';
COMMENT ON COLUMN event_type_channel_routing.roles IS 'Only recipients with one of these roles, mandatory or not. Null: any role.';
COMMENT ON TABLE entity_notification_settings IS 'What a group sets for its members. Without a row: on, any number, any role, no quiet hours. A row for an event type replaces the row for all event types. The rows of entity CUSTOMER, id 0, hold for all customers.';
COMMENT ON COLUMN entity_notification_settings.entity_type IS 'As in entity_member. CUSTOMER, ADMIN and BROADCAST: the recipients of such aggregates.';
COMMENT ON COLUMN entity_notification_settings.enabled IS 'false: the group switched the channel off (GROUP_DISABLED). A mandatory event type ignores it.';
COMMENT ON COLUMN entity_notification_settings.max_recipients IS 'Number of members that one event tells over the channel: MANAGER first, then by user_id. Recipients that another rule excludes do not count. 0: nobody. Null: any number. A mandatory event type ignores it.';
COMMENT ON COLUMN entity_notification_settings.allowed_roles IS 'Only members with one of these roles, mandatory or not. Null: any role. Empty: nobody.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_start IS 'Begin of the group''s quiet hours, by the wall clock, inclusive. They hold for EMAIL, PUSH and SMS, mandatory or not. Null, as the end: none. Start = end: never quiet.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_end IS 'End of the quiet hours, exclusive. Earlier than the start: on the next day.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_timezone IS 'IANA time zone of the wall clock. Null: the zone of each recipient.';
COMMENT ON TABLE user_notification_preferences IS 'What a recipient sets for a channel. Without a row: on, no quiet hours, NORMAL.';
COMMENT ON COLUMN user_notification_preferences.enabled IS 'false: the recipient switched the channel off (USER_DISABLED). A mandatory event type ignores it.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_enabled IS 'true: the recipient has quiet hours for EMAIL, PUSH or SMS, mandatory or not. quiet_hours_action of the routing says what follows.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_start IS 'Begin of the quiet hours, inclusive, by the wall clock of user_settings.timezone, else recipient.timezone. Start = end: never quiet.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_end IS 'End of the quiet hours, exclusive. Earlier than the start: on the next day.';
COMMENT ON COLUMN user_notification_preferences.priority IS 'HIGH, NORMAL or LOW, if the routing has no priority.';
COMMENT ON COLUMN user_notification_preferences.changed_at IS 'When enabled last changed. Null: before this column existed.';
COMMENT ON COLUMN user_notification_preferences.changed_by IS 'Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session. Null: before this column existed.';
COMMENT ON TABLE event_type_escalation IS 'The delivery that follows over another channel if one does not arrive in time, or fails. The rules decide about it at that moment. Rows may form a chain, PUSH to SMS to EMAIL, and no circle.';
COMMENT ON COLUMN event_type_escalation.from_channel IS 'The channel of the first delivery. Both channels need a row in event_type_channel_routing that is not AGGREGATE.';
COMMENT ON COLUMN event_type_escalation.to_channel IS 'The channel of the delivery that follows. Its routing may be on_escalation_only.';
COMMENT ON COLUMN event_type_escalation.after IS 'Wait from the time of sending: 1 second to 30 days. A failed delivery escalates at once.';
COMMENT ON COLUMN event_type_escalation.until IS 'DELIVERED: the wait ends when the message has arrived or was read; PUSH and SLACK cannot know that. READ: when the recipient has read any notification of the event.';
COMMENT ON COLUMN event_type_escalation.if_unreachable IS 'true: a recipient without an address for from_channel, or with a suppressed one, is told over to_channel at once. false: nothing follows.';
COMMENT ON TABLE notification_template IS 'The texts, as Go templates. The most specific row counts: first by event type, then by channel, then by locale. A delivery without a row is FAILED.';
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: all. digest: the text of digests. REVIEW_POSTED.digest: the text of digests of one event type.';
COMMENT ON COLUMN notification_template.channel IS 'The channel; *: all. A body for * is plain text, which EMAIL turns into HTML.';
COMMENT ON COLUMN notification_template.locale IS 'en, it, it-CH. Upper and lower case, - and _ are the same.';
COMMENT ON COLUMN notification_template.title IS 'Template of the title: one line of plain text. EMAIL needs one. With the body, up to 64 KiB.';
COMMENT ON COLUMN notification_template.body IS 'Template of the body: HTML for EMAIL, which escapes values, else plain text.';
COMMENT ON COLUMN notification_template.channel_type IS 'channel as a reference to the table channel; null: *.';
COMMENT ON COLUMN notification_template.shipped IS 'true: the row came with Herald, and nobody changed it. An INSERT of the same key replaces it.';
COMMENT ON TABLE event_outbox IS 'The events. A producer inserts a row in its transaction. After the commit, a poller starts one workflow for it, in the order of seq. The table refuses a row that cannot become a workflow or is unsafe to show.';
COMMENT ON COLUMN event_outbox.event_id IS 'The producer''s id, and the workflow ID: 1 to 150 bytes, printable. If another workflow has the id, the row becomes FAILED.';
COMMENT ON COLUMN event_outbox.seq IS 'Order of arrival. Pollers claim events in this order, which is not the order of commits.';
COMMENT ON COLUMN event_outbox.event_type IS 'The kind of event, such as RESERVATION_REQUESTED. It selects recipients, routing and templates. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_type IS 'The subject of the event. Without rows in event_type_recipients, RESTAURANT, AGENCY, CUSTOMER, ADMIN and BROADCAST name the recipients. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_id IS 'Id of the aggregate; an integer inserts as well. Any word for ADMIN and BROADCAST. 1 to 100 bytes, printable; an id over 64 bytes finds no recipients.';
COMMENT ON COLUMN event_outbox.payload IS 'A JSON object of up to 256 KiB: the data of templates and messages.';
COMMENT ON COLUMN event_outbox.correlation_id IS 'Goes into messages, dead letters and histories; starter filters by it. Up to 255 bytes; null: none.';
COMMENT ON COLUMN event_outbox.status IS 'PENDING: waits for a poller. PROCESSED: its workflow was started. FAILED: it cannot be started, see error_message; `starter event retry` makes it PENDING again.';
COMMENT ON COLUMN event_outbox.published_at IS 'When it became PROCESSED. Null: not yet.';
COMMENT ON COLUMN event_outbox.attempt_count IS 'Number of claims by pollers. After 10 claims without a start it becomes FAILED.';
COMMENT ON COLUMN event_outbox.error_message IS 'Why it is FAILED, or why the last claim started nothing. Null: no error.';
COMMENT ON COLUMN event_outbox.lease_owner IS 'The claim that holds the row. Null: none.';
COMMENT ON COLUMN event_outbox.lease_until IS 'End of the claim. Later another poller may claim the row.';
COMMENT ON COLUMN event_outbox.cancels IS 'The event_id of an event to cancel: its unsent messages are cancelled, also if that event comes later. Null: none.';
COMMENT ON COLUMN event_outbox.source IS 'The outbox of the event; herald: a producer wrote it here.';
COMMENT ON COLUMN event_outbox.sink_attempts IS 'Refusals by the topic since the row was begun.';
COMMENT ON COLUMN event_outbox.acknowledged_at IS 'When RabbitMQ acknowledged the event''s message. Null: not yet, or the event has no message. Release 0.2 also wrote the topic''s acknowledgement here.';
COMMENT ON COLUMN event_outbox.row_failed_at IS 'When the event''s row in another outbox was marked as failed. If that row is pending later, its service set it back. Null: it was not marked.';
COMMENT ON COLUMN event_outbox.produced_at IS 'When the topic of Herald''s own outbox acknowledged the event. Null: not yet, or there is no topic.';
COMMENT ON COLUMN event_outbox.withdrawn_at IS 'When an operator cancelled the event before a poller started it; it is FAILED then. Null: nobody did, or it was retried.';
COMMENT ON TABLE channel_turn IS 'The next free turn of each channel with a rate limit, such as EMAIL_RATE_LIMIT.';
COMMENT ON TABLE delivery_attempt IS 'The ended attempts to hand a delivery to its provider. notification has the attempt under way.';
COMMENT ON TABLE delivery_follow_up IS 'Work that follows a receipt, an acknowledgement, a reader or the end of an attempt in a batch: a dead letter, an escalation.';
COMMENT ON TABLE delivery_receipt IS 'The receipts of providers, each once.';
COMMENT ON TABLE delivery_retry IS 'The retries of deliveries that operators ordered.';
COMMENT ON TABLE event_category IS 'The category of each event type. Recipients switch off a category over a channel.';
COMMENT ON TABLE gateway_ticket IS 'Tickets, each for one socket at any gateway.';
COMMENT ON TABLE herald_secret IS 'The fingerprints of the secrets by which this database knows addresses.';
COMMENT ON TABLE notification_decision IS 'The decisions about each recipient of an event.';
COMMENT ON TABLE operator_action IS 'What operators changed through starter. Temporal''s histories hold the changes of its Web UI.';
COMMENT ON TABLE processed_event IS 'The started events. Temporal forgets a workflow ID after its retention; this table does not.';
COMMENT ON TABLE recipient_suppression IS 'Addresses that get no message, mandatory or not (SUPPRESSED): they do not work, or their owner refused.';
COMMENT ON TABLE source_position IS 'The position of the pollers in each outbox. A new poller continues where the last owner of its slots ended.';
COMMENT ON TABLE source_row IS 'Rows of outboxes that their topic refused, that cannot tell people, or that cannot be marked in their table.';
COMMENT ON TABLE source_start IS 'The last event of event_outbox from before Herald''s own outbox got a topic.';
COMMENT ON TABLE sweep IS 'The results of the last sweeps.';
COMMENT ON TABLE user_category_preferences IS 'What a recipient sets for a category over a channel.';
COMMENT ON TABLE user_settings IS 'What recipients set for themselves. The directory may be a view, so these columns are separate.';
COMMENT ON TABLE user_type IS 'The types of recipients.';
COMMENT ON TABLE worker_promotion IS 'The promoted generations of workers.';

-- The tables of the directory may be views of an installation, which has its comments.
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) IN ('r', 'p') THEN
        COMMENT ON TABLE recipient IS 'The recipients and their addresses. It may be a view of your tables: Herald only reads it.';
        COMMENT ON COLUMN recipient.user_type IS 'A row of user_type, such as CUSTOMER. With user_id, the key.';
        COMMENT ON COLUMN recipient.user_id IS 'Your id of the person, unique within the type: 1 to 64 bytes, printable. It is in workflow ids and logs, so use no address. Herald orders numbers as numbers.';
        COMMENT ON COLUMN recipient.name IS 'For templates: .recipient.name.';
        COMMENT ON COLUMN recipient.email IS 'Address for EMAIL. Null or empty: decision NO_ADDRESS.';
        COMMENT ON COLUMN recipient.phone IS 'Number for SMS in E.164, such as +41791234567. Null or empty: no SMS.';
        COMMENT ON COLUMN recipient.slack_webhook_url IS 'Incoming webhook for SLACK, at one of SLACK_ALLOWED_HOSTS; a secret. Null or empty: no Slack.';
        COMMENT ON COLUMN recipient.locale IS 'Language of the texts: it, it-CH or it_CH. Herald falls back to the language, then to en.';
        COMMENT ON COLUMN recipient.timezone IS 'IANA time zone for quiet hours, such as Europe/Rome. Postgres refuses a zone that it does not know. A worker takes such a zone as UTC.';
        COMMENT ON COLUMN recipient.active IS 'false: the recipient gets nothing, not even a waiting delivery.';
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient_device')) IN ('r', 'p') THEN
        COMMENT ON TABLE recipient_device IS 'The devices of recipients. PUSH sends one message to each active device, and is SENT when one device took it. It may be a view whose column active can be updated.';
        COMMENT ON COLUMN recipient_device.user_type IS 'Type of the recipient.';
        COMMENT ON COLUMN recipient_device.user_id IS 'Id of the recipient.';
        COMMENT ON COLUMN recipient_device.token IS 'Registration token of Firebase Cloud Messaging, up to 1,024 bytes; a secret.';
        COMMENT ON COLUMN recipient_device.active IS 'false: the device gets nothing. Herald sets it when Firebase calls the token dead, and changes nothing else in the directory.';
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('entity_member')) IN ('r', 'p') THEN
        COMMENT ON TABLE entity_member IS 'The members of groups: of restaurant 5, of agency 7. It may be a view of your tables: Herald only reads it.';
        COMMENT ON COLUMN entity_member.entity_type IS 'Kind of group: any word except CUSTOMER, ADMIN and BROADCAST, which have no members here.';
        COMMENT ON COLUMN entity_member.entity_id IS 'Your id of the group, compared as text; up to 64 bytes.';
        COMMENT ON COLUMN entity_member.user_type IS 'Type of the recipient.';
        COMMENT ON COLUMN entity_member.user_id IS 'Id of the recipient.';
        COMMENT ON COLUMN entity_member.role IS 'Any word. roles and allowed_roles compare it as text. MANAGER comes first under max_recipients.';
        COMMENT ON COLUMN entity_member.active IS 'false: not a member.';
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- The words stay: they hold for the version before, too.
SELECT 1;
