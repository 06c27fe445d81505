-- +goose Up
-- What each table and column means, where psql's \d+ shows it. docs/reference.md is made from these comments. They lock out
-- neither readers nor writers.

COMMENT ON TABLE event_outbox IS 'What happened. A producer inserts a row in its own transaction; once it is committed, a poller starts one workflow for it, in the order of seq. What could not become a workflow, or would be unsafe to show, is refused by the table.';
COMMENT ON COLUMN event_outbox.event_id IS 'Chosen by the producer, and the workflow ID: 1 to 150 bytes, printable. An id that another workflow has makes the row FAILED.';
COMMENT ON COLUMN event_outbox.seq IS 'Order of arrival, in which events are claimed; not the order of commit.';
COMMENT ON COLUMN event_outbox.event_type IS 'What happened, such as RESERVATION_REQUESTED. Recipients, routing and templates are found by it. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_type IS 'What the event is about. RESTAURANT, AGENCY, CUSTOMER, ADMIN and BROADCAST name the recipients where event_type_recipients has no row for the event type; any other word, such as RESERVATION, needs rows there. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_id IS 'Id of the aggregate; an integer inserts as well. For ADMIN and BROADCAST any word. 1 to 100 bytes, printable; longer than 64, it finds no recipients.';
COMMENT ON COLUMN event_outbox.payload IS 'The whole event, a JSON object of up to 256 KiB: templates and consumers of messages have nothing else.';
COMMENT ON COLUMN event_outbox.correlation_id IS 'Carried through to messages, dead letters and histories, and a filter of starter. Up to 255 bytes; null: none.';
COMMENT ON COLUMN event_outbox.status IS 'PENDING: waits for a poller. PROCESSED: its workflow was started. FAILED: it cannot be started, error_message says why, and `starter event retry` makes it PENDING again.';
COMMENT ON COLUMN event_outbox.created_at IS 'When the producer''s transaction began.';
COMMENT ON COLUMN event_outbox.published_at IS 'When it became PROCESSED; null: it is not.';
COMMENT ON COLUMN event_outbox.attempt_count IS 'How often a poller has claimed it. Claimed 10 times without an end, it is FAILED.';
COMMENT ON COLUMN event_outbox.error_message IS 'Why it is FAILED, or why the last claim started nothing; null: nothing went wrong.';
COMMENT ON COLUMN event_outbox.lease_owner IS 'The claim that has it now; null: none has.';
COMMENT ON COLUMN event_outbox.lease_until IS 'When that claim ends, and others may claim it.';

COMMENT ON TABLE processed_event IS 'The events that were started: the memory against duplicates, since Temporal forgets a workflow ID when its retention ends. An event that is here is started again only by `starter event retry`.';
COMMENT ON COLUMN processed_event.event_id IS 'event_outbox.event_id, whose row may have been purged.';
COMMENT ON COLUMN processed_event.status IS 'PROCESSING: its workflow runs. SUCCESS: all deliveries have ended, also where some have failed. FAILED: the workflow failed, was cancelled or terminated, or was lost three times.';
COMMENT ON COLUMN processed_event.created_at IS 'When its workflow was started.';
COMMENT ON COLUMN processed_event.updated_at IS 'When the status last changed.';
COMMENT ON COLUMN processed_event.restarts IS 'How often the sweep has started its workflow again, 3 times at most.';

-- An installation may have its own views instead of these three tables; those have its own comments.
-- +goose StatementBegin
DO $do$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) IN ('r', 'p') THEN
        COMMENT ON TABLE recipient IS 'Who there is, and how to reach them. It may be a view over your own tables: Herald only reads it.';
        COMMENT ON COLUMN recipient.user_type IS 'A type of user_type, such as CUSTOMER; together with user_id the key.';
        COMMENT ON COLUMN recipient.user_id IS 'Your id of the person, one of its kind within the type: 1 to 64 bytes, printable. It stands in workflow ids and logs, so use no address. Where recipients are ordered, numbers are compared as numbers.';
        COMMENT ON COLUMN recipient.name IS 'For templates, as .recipient.name.';
        COMMENT ON COLUMN recipient.email IS 'Address for EMAIL. Null or empty: no e-mail, decision NO_ADDRESS.';
        COMMENT ON COLUMN recipient.phone IS 'Number for SMS in E.164, such as +41791234567. Null or empty: no SMS.';
        COMMENT ON COLUMN recipient.slack_webhook_url IS 'Incoming webhook for SLACK, at one of SLACK_ALLOWED_HOSTS; a secret. Null or empty: no Slack.';
        COMMENT ON COLUMN recipient.locale IS 'Language of the texts: it, it-CH or it_CH. Without a template in it, the language alone is tried, then en.';
        COMMENT ON COLUMN recipient.timezone IS 'IANA time zone, such as Europe/Rome: for quiet hours. One that Postgres does not know is refused; one that a worker does not know is taken as UTC.';
        COMMENT ON COLUMN recipient.active IS 'false: they are told nothing, not even what is waiting already.';
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient_device')) IN ('r', 'p') THEN
        COMMENT ON TABLE recipient_device IS 'The devices of a recipient. PUSH sends one message to each active one, and is SENT when one of them took it. It may be a view whose column active can be updated.';
        COMMENT ON COLUMN recipient_device.user_type IS 'Of the recipient.';
        COMMENT ON COLUMN recipient_device.user_id IS 'Of the recipient.';
        COMMENT ON COLUMN recipient_device.token IS 'Registration token of Firebase Cloud Messaging, up to 1,024 bytes; a secret.';
        COMMENT ON COLUMN recipient_device.active IS 'false: nothing is sent to it. Herald sets it when Firebase calls the token dead; it changes nothing else in the directory.';
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('entity_member')) IN ('r', 'p') THEN
        COMMENT ON TABLE entity_member IS 'Who belongs to which group: to restaurant 5, to agency 7. It may be a view over your own tables: Herald only reads it.';
        COMMENT ON COLUMN entity_member.entity_type IS 'Kind of group: any word, apart from CUSTOMER, ADMIN and BROADCAST, which have no members here.';
        COMMENT ON COLUMN entity_member.entity_id IS 'Your id of the group, compared as text; up to 64 bytes.';
        COMMENT ON COLUMN entity_member.user_type IS 'Of the recipient.';
        COMMENT ON COLUMN entity_member.user_id IS 'Of the recipient.';
        COMMENT ON COLUMN entity_member.role IS 'Any word; roles and allowed_roles compare it as it stands. MANAGER comes first where max_recipients does not let everybody in.';
        COMMENT ON COLUMN entity_member.active IS 'false: they count as no member.';
    END IF;
END;
$do$;
-- +goose StatementEnd

COMMENT ON TABLE event_type_recipients IS 'Who is told of an event type. Each row names a group or a person; somebody whom several rows name is told once. For an event type without a row the aggregate decides: RESTAURANT, its active members; AGENCY, those with the role AGENT or MANAGER; CUSTOMER, that customer; ADMIN, all active admins; BROADCAST, all active recipients.';
COMMENT ON COLUMN event_type_recipients.id IS 'Of the row.';
COMMENT ON COLUMN event_type_recipients.event_type IS 'event_outbox.event_type; * has no meaning here.';
COMMENT ON COLUMN event_type_recipients.user_type IS 'Only recipients of this type of user_type. Null: of any.';
COMMENT ON COLUMN event_type_recipients.entity_type IS 'CUSTOMER: the customer with the id that entity_id_path finds. ADMIN: all active admins. BROADCAST: all active recipients. Any other word: the active members of that entity.';
COMMENT ON COLUMN event_type_recipients.entity_id_path IS 'Where the payload has the id: restaurantId, customer.id; restaurantId and restaurant_id differ. Several, separated by commas: the first that is there counts. @aggregate: the event''s aggregate_id, where its aggregate_type is the entity_type. ADMIN and BROADCAST need none, so null.';
COMMENT ON COLUMN event_type_recipients.roles IS 'Only members with one of these roles. Null: with any. Empty: nobody. CUSTOMER, ADMIN and BROADCAST have no roles, and ignore it.';

COMMENT ON TABLE event_type_channel_routing IS 'Over which channels an event type goes out, and how. A channel without a row is not used; an event type without any row tells nobody (NO_ROUTING).';
COMMENT ON COLUMN event_type_channel_routing.event_type IS 'event_outbox.event_type; * has no meaning here.';
COMMENT ON COLUMN event_type_channel_routing.channel_type IS 'One of channel.';
COMMENT ON COLUMN event_type_channel_routing.mandatory IS 'true: it goes out though the recipient or their entity switched the channel off, and max_recipients does not count. It does not beat quiet hours, allowed_roles or channel_user_type.';
COMMENT ON COLUMN event_type_channel_routing.delivery_strategy IS 'IMMEDIATE: at once. DELAYED: after delay, or at a time that the payload names (send_at_path). AGGREGATE: in a digest, one message for all that comes for one recipient by one channel of one event type within digest_window, at most 100 events.';
COMMENT ON COLUMN event_type_channel_routing.delay IS 'Of DELAYED: how long after planning it is sent, at most 30 days; 0 with send_at_path. The other strategies ignore it.';
COMMENT ON COLUMN event_type_channel_routing.digest_window IS 'Of AGGREGATE: how long after its first event a digest is sent, 1 second to 7 days. The other strategies ignore it.';
COMMENT ON COLUMN event_type_channel_routing.quiet_hours_action IS 'What happens in quiet hours, also to what is mandatory. DROP, the default: it is never sent. DEFER: it is sent when they end; if they do not end within 48 hours, never. WEBSOCKET and SLACK have no quiet hours.';
COMMENT ON COLUMN event_type_channel_routing.priority IS 'HIGH, NORMAL or LOW: which of the waiting deliveries is sent first. Null: the recipient''s preference decides, and NORMAL without one.';
COMMENT ON COLUMN event_type_channel_routing.push_kind IS 'Of PUSH. NOTIFICATION: the phone shows it; for a phone that is offline, Firebase may keep only the last. DATA: your app shows it; Firebase keeps a hundred for a phone that is offline.';

COMMENT ON TABLE entity_notification_settings IS 'What a group has set for its members. No row: on, any number, any role, no quiet hours. A row for an event type replaces the row for every event type; the two are not merged. Customers have no group: the rows of entity CUSTOMER, id 0, are for all of them.';
COMMENT ON COLUMN entity_notification_settings.entity_type IS 'As in entity_member; CUSTOMER for all customers, ADMIN and BROADCAST for those who were told by them.';
COMMENT ON COLUMN entity_notification_settings.entity_id IS 'As in entity_member; 0 for CUSTOMER, ADMIN and BROADCAST.';
COMMENT ON COLUMN entity_notification_settings.channel_type IS 'One of channel.';
COMMENT ON COLUMN entity_notification_settings.event_type IS 'The event type that the row is for. Null: every event type without a row of its own.';
COMMENT ON COLUMN entity_notification_settings.enabled IS 'false: the group has switched the channel off (GROUP_DISABLED). Where the event type is mandatory, it is ignored.';
COMMENT ON COLUMN entity_notification_settings.max_recipients IS 'How many of the group are told of one event over the channel: MANAGER first, then by user_id. Only those whom no other rule excludes count. 0: nobody. Null: any number. Where the event type is mandatory, it is ignored.';
COMMENT ON COLUMN entity_notification_settings.allowed_roles IS 'Only members with one of these roles are told over the channel, also where it is mandatory. Null: any role. Empty: nobody.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_start IS 'When the group''s quiet hours begin, on the wall clock; this time included. Only EMAIL, PUSH and SMS have quiet hours, also where they are mandatory. Null, as the end: none. Start = end: never quiet.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_end IS 'When they end; this time is not quiet any more. Earlier than the start: on the next day.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_timezone IS 'IANA time zone of the wall clock. Null: each recipient''s own.';

COMMENT ON TABLE user_notification_preferences IS 'What a recipient has set for a channel. No row: on, no quiet hours, NORMAL.';
COMMENT ON COLUMN user_notification_preferences.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_notification_preferences.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_notification_preferences.channel_type IS 'One of channel.';
COMMENT ON COLUMN user_notification_preferences.enabled IS 'false: they have switched the channel off (USER_DISABLED). Where the event type is mandatory, it is ignored.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_enabled IS 'true: they have quiet hours, also for what is mandatory. Only EMAIL, PUSH and SMS can be quiet; what happens then is quiet_hours_action of the routing.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_start IS 'When their quiet hours begin, on the wall clock of recipient.timezone; this time included. Start = end: never quiet.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_end IS 'When they end; this time is not quiet any more. Earlier than the start: on the next day.';
COMMENT ON COLUMN user_notification_preferences.priority IS 'HIGH, NORMAL or LOW, for event types whose routing has no priority.';

COMMENT ON TABLE channel IS 'The channels that Herald can send by. A row alone does not make another: each needs a sender.';
COMMENT ON COLUMN channel.channel_type IS 'Its name: WEBSOCKET, EMAIL, PUSH, SMS, SLACK.';

COMMENT ON TABLE channel_user_type IS 'Which channel may serve which type of recipient. Without a row the decision is UNSUPPORTED, also where the channel is mandatory.';
COMMENT ON COLUMN channel_user_type.channel_type IS 'One of channel.';
COMMENT ON COLUMN channel_user_type.user_type IS 'One of user_type.';

COMMENT ON TABLE notification_template IS 'The texts, as Go templates. The most specific row is used: the event type before *, then the channel before *, then the locale. A delivery without one is FAILED.';
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: every one. The name digest is for the text of digests.';
COMMENT ON COLUMN notification_template.channel IS 'The channel; *: every one. A body for * is plain text, and is made HTML for EMAIL.';
COMMENT ON COLUMN notification_template.locale IS 'en, it, it-CH. Upper and lower case, - and _ are the same.';
COMMENT ON COLUMN notification_template.title IS 'Template of the title: plain text of one line. EMAIL refuses an empty one. With the body, up to 64 KiB.';
COMMENT ON COLUMN notification_template.body IS 'Template of the body: HTML where channel is EMAIL, where what it inserts is escaped; else plain text.';
COMMENT ON COLUMN notification_template.channel_type IS 'channel, which refers to the table of that name; null: *.';

COMMENT ON TABLE notification_decision IS 'What was decided about each recipient of an event, and why.';
COMMENT ON COLUMN notification_decision.event_id IS 'Of the event.';
COMMENT ON COLUMN notification_decision.user_type IS 'Of the recipient.';
COMMENT ON COLUMN notification_decision.user_id IS 'Of the recipient.';
COMMENT ON COLUMN notification_decision.decided_at IS 'When the event was planned.';
COMMENT ON COLUMN notification_decision.channels IS 'The decision for each channel of the event type: {"EMAIL": "SELECTED", "PUSH": "USER_DISABLED"}.';

COMMENT ON TABLE notification IS 'The deliveries: one for each event, recipient and channel that was SELECTED. Herald alone writes it.';
COMMENT ON COLUMN notification.id IS 'Of the row; notification_id in websocket messages.';
COMMENT ON COLUMN notification.event_id IS 'Of the event.';
COMMENT ON COLUMN notification.event_type IS 'Of the event.';
COMMENT ON COLUMN notification.user_type IS 'Of the recipient.';
COMMENT ON COLUMN notification.user_id IS 'Of the recipient.';
COMMENT ON COLUMN notification.channel IS 'Of the delivery.';
COMMENT ON COLUMN notification.delivery_id IS 'Its name for operators and providers, and its workflow ID: evt-1-staff10-EMAIL.';
COMMENT ON COLUMN notification.title IS 'The text, written when the event was planned. Null: it could not be written, and last_error says why.';
COMMENT ON COLUMN notification.body IS 'As the title; HTML for EMAIL.';
COMMENT ON COLUMN notification.recipient_address IS 'Address, number or webhook of the last attempt, before it the one of the planning. Null: the channel has none of its own (WEBSOCKET, PUSH).';
COMMENT ON COLUMN notification.status IS 'PENDING: not sent yet. SENT: the provider accepted it. DELIVERED: a receipt says that it arrived. FAILED: refused, attempts used up, or no text. CANCELLED: by an operator, or dropped after a wait; last_error says which.';
COMMENT ON COLUMN notification.strategy IS 'IMMEDIATE, DELAYED or AGGREGATE, as routed when it was planned.';
COMMENT ON COLUMN notification.priority IS 'HIGH, NORMAL or LOW, by the routing or the preference.';
COMMENT ON COLUMN notification.send_after IS 'When the wait for a delay or for quiet hours ends, as planned; a later reschedule by an operator does not change it. Null: it does not wait.';
COMMENT ON COLUMN notification.attempt_count IS 'Attempts that were begun; those of its digest count.';
COMMENT ON COLUMN notification.last_error IS 'Why it is FAILED or CANCELLED, or what the last attempt met. It holds no address and no text.';
COMMENT ON COLUMN notification.provider_message_id IS 'The provider''s id of the message; null: it gave none.';
COMMENT ON COLUMN notification.digest_id IS 'The digest that it is or was sent in; null: none.';
COMMENT ON COLUMN notification.created_at IS 'When it was planned.';
COMMENT ON COLUMN notification.sent_at IS 'When the provider accepted it.';
COMMENT ON COLUMN notification.delivered_at IS 'When it arrived, by a receipt.';
COMMENT ON COLUMN notification.read_at IS 'When it was read; null: not known to be.';
COMMENT ON COLUMN notification.entity_type IS 'The group through which the recipient was told. Null: planned by release 0.1.';
COMMENT ON COLUMN notification.entity_id IS 'Id of that group.';
COMMENT ON COLUMN notification.correlation_id IS 'Of the event.';
COMMENT ON COLUMN notification.restarts IS 'How often the sweep has started its workflow again, 3 times at most.';

COMMENT ON TABLE delivery_attempt IS 'One attempt to hand a delivery to its provider. One that was begun and never ended died with its process, and the next may repeat the message.';
COMMENT ON COLUMN delivery_attempt.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_attempt.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN delivery_attempt.started_at IS 'Before the provider was called.';
COMMENT ON COLUMN delivery_attempt.ended_at IS 'When its result was recorded; null: it has not ended.';
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: for ever. BUSY: the provider wants it later. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. ERROR: the provider was not called. Null: it has not ended.';
COMMENT ON COLUMN delivery_attempt.provider_status IS 'HTTP status of the provider''s answer; null: there was none.';
COMMENT ON COLUMN delivery_attempt.detail IS 'What the provider said. It holds no address and no text.';

COMMENT ON TABLE delivery_retry IS 'Deliveries that an operator had made once more, by `starter delivery retry`.';
COMMENT ON COLUMN delivery_retry.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_retry.run_id IS 'The run of its workflow that makes it.';
COMMENT ON COLUMN delivery_retry.retried_at IS 'When the operator ordered it.';
COMMENT ON COLUMN delivery_retry.again IS 'true: the operator accepted that it had been sent already, or may have been.';
COMMENT ON COLUMN delivery_retry.status_before IS 'notification.status before it: PENDING, SENT, DELIVERED, FAILED or CANCELLED.';
COMMENT ON COLUMN delivery_retry.error_before IS 'notification.last_error before it.';

COMMENT ON TABLE operator_action IS 'Who changed what through starter. What is done in Temporal''s own Web UI stands in its histories alone.';
COMMENT ON COLUMN operator_action.id IS 'Of the row.';
COMMENT ON COLUMN operator_action.at IS 'When it was ordered, before it was done.';
COMMENT ON COLUMN operator_action.actor IS 'HERALD_ACTOR, else user@host.';
COMMENT ON COLUMN operator_action.command IS 'event retry, delivery cancel, purge.';
COMMENT ON COLUMN operator_action.target IS 'An event id, a delivery id, a poller''s workflow ID or a table; for many: the filter.';
COMMENT ON COLUMN operator_action.detail IS 'The flags, and how many were changed. It holds no address and no text.';

COMMENT ON TABLE sweep IS 'What the last sweeps found. Every 10 minutes a sweep looks for events and deliveries that are unfinished for 15 minutes and have no workflow. Older rows are deleted.';
COMMENT ON COLUMN sweep.id IS 'Of the row.';
COMMENT ON COLUMN sweep.at IS 'When it ended.';
COMMENT ON COLUMN sweep.looked IS 'Events and deliveries whose workflow it asked for.';
COMMENT ON COLUMN sweep.started_again IS 'Workflows that were lost or never started, and that it started.';
COMMENT ON COLUMN sweep.closed IS 'Events and deliveries whose workflow an operator had terminated.';
COMMENT ON COLUMN sweep.failed IS 'Events and deliveries that it gave up, started again three times in vain.';
COMMENT ON COLUMN sweep.after_event IS 'The event at which the next sweep goes on; empty: from the beginning.';
COMMENT ON COLUMN sweep.after_notification IS 'The notification.id at which the next sweep goes on; 0: from the beginning.';

COMMENT ON VIEW restaurant_notification IS 'The rows of notification for RESTAURANT_USER.';
COMMENT ON VIEW customer_notification IS 'The rows of notification for CUSTOMER.';
COMMENT ON VIEW agency_notification IS 'The rows of notification for AGENCY_USER.';
COMMENT ON VIEW admin_notification IS 'The rows of notification for ADMIN.';
COMMENT ON VIEW guest_notification IS 'The rows of notification for GUEST.';

COMMENT ON VIEW notification_outbox IS 'notification in the columns of an older design, for what was built on that; read-only.';
COMMENT ON COLUMN notification_outbox.id IS 'notification.id.';
COMMENT ON COLUMN notification_outbox.event_id IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.recipient_id IS 'notification.user_id.';
COMMENT ON COLUMN notification_outbox.recipient_type IS 'notification.user_type.';
COMMENT ON COLUMN notification_outbox.channel IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.title IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.body IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.recipient_address IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.status IS 'PENDING, PUBLISHED for SENT, DELIVERED, or FAILED, also for CANCELLED.';
COMMENT ON COLUMN notification_outbox.created_at IS 'As in notification.';
COMMENT ON COLUMN notification_outbox.published_at IS 'notification.sent_at.';
COMMENT ON COLUMN notification_outbox.delivered_at IS 'As in notification.';

COMMENT ON VIEW notification_channel_send IS 'notification in the columns of an older design, for the channels that are retried: EMAIL, PUSH and SMS; read-only.';
COMMENT ON COLUMN notification_channel_send.id IS 'notification.id.';
COMMENT ON COLUMN notification_channel_send.notification_id IS 'notification.id.';
COMMENT ON COLUMN notification_channel_send.channel_type IS 'notification.channel.';
COMMENT ON COLUMN notification_channel_send.recipient_address IS 'As in notification.';
COMMENT ON COLUMN notification_channel_send.sent IS 'notification.sent_at.';
COMMENT ON COLUMN notification_channel_send.status IS 'SENT, also for DELIVERED; FAILED, also for CANCELLED; null: not ended.';
COMMENT ON COLUMN notification_channel_send.attempt_count IS 'As in notification.';
COMMENT ON COLUMN notification_channel_send.next_retry_at IS 'Not before then, of what is PENDING. Temporal alone knows when an attempt is repeated.';
COMMENT ON COLUMN notification_channel_send.last_error IS 'As in notification.';
COMMENT ON COLUMN notification_channel_send.created_at IS 'As in notification.';

-- The views of one user type have the columns of notification, and their comments.
-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.relname, a.attname, col_description(a.attrelid, a.attnum) AS text
        FROM   pg_class v
        JOIN   pg_attribute w ON w.attrelid = v.oid AND w.attnum > 0
        JOIN   pg_attribute a ON a.attrelid = 'notification'::regclass AND a.attname = w.attname
        WHERE  v.oid IN ('restaurant_notification'::regclass, 'customer_notification'::regclass, 'agency_notification'::regclass,
                         'admin_notification'::regclass, 'guest_notification'::regclass)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', said.relname, said.attname, said.text);
    END LOOP;
END;
$$;
-- +goose StatementEnd

-- +goose Down
SELECT 1; -- the comments stay: nothing depends on them
