-- Who is told what, over which channel, and with which text.
-- +goose Up
CREATE TABLE channel (
    channel_type text,
    confirms     boolean DEFAULT false NOT NULL,
    CONSTRAINT channel_pkey PRIMARY KEY (channel_type),
    CONSTRAINT channel_name CHECK (channel_type ~ '^[A-Z][A-Z0-9_]{0,10}$')
);

COMMENT ON TABLE channel IS 'The channels that Herald can send by. A row alone does not make another: each needs a sender.';
COMMENT ON COLUMN channel.channel_type IS 'Its name, such as EMAIL.';
COMMENT ON COLUMN channel.confirms IS 'Whether it can know that a message has arrived: from a receipt, or from the client.';

CREATE UNIQUE INDEX channel_confirms ON channel (channel_type, confirms);

INSERT INTO channel (channel_type, confirms) VALUES
    ('PUSH', false),
    ('SLACK', false),
    ('WEBSOCKET', true),
    ('EMAIL', true),
    ('SMS', true),
    ('WEBHOOK', false);

CREATE TABLE channel_user_type (
    channel_type text,
    user_type    text,
    CONSTRAINT channel_user_type_pkey PRIMARY KEY (channel_type, user_type),
    CONSTRAINT channel_user_type_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT channel_user_type_user_type FOREIGN KEY (user_type) REFERENCES user_type
);

COMMENT ON TABLE channel_user_type IS 'Which channel may serve which type of recipient. Without a row the decision is UNSUPPORTED, also where the channel is mandatory.';
COMMENT ON COLUMN channel_user_type.channel_type IS 'One of channel.';
COMMENT ON COLUMN channel_user_type.user_type IS 'One of user_type.';

INSERT INTO channel_user_type (channel_type, user_type) VALUES
    ('EMAIL', 'ADMIN'),
    ('EMAIL', 'AGENCY_USER'),
    ('EMAIL', 'CUSTOMER'),
    ('EMAIL', 'RESTAURANT_USER'),
    ('PUSH', 'AGENCY_USER'),
    ('PUSH', 'CUSTOMER'),
    ('PUSH', 'RESTAURANT_USER'),
    ('SLACK', 'ADMIN'),
    ('SLACK', 'RESTAURANT_USER'),
    ('SMS', 'AGENCY_USER'),
    ('SMS', 'CUSTOMER'),
    ('SMS', 'RESTAURANT_USER'),
    ('WEBHOOK', 'ADMIN'),
    ('WEBHOOK', 'AGENCY_USER'),
    ('WEBHOOK', 'CUSTOMER'),
    ('WEBHOOK', 'RESTAURANT_USER'),
    ('WEBSOCKET', 'ADMIN'),
    ('WEBSOCKET', 'AGENCY_USER'),
    ('WEBSOCKET', 'CUSTOMER'),
    ('WEBSOCKET', 'GUEST'),
    ('WEBSOCKET', 'RESTAURANT_USER');

CREATE TABLE event_type_recipients (
    id             bigint GENERATED ALWAYS AS IDENTITY,
    event_type     text NOT NULL,
    user_type      text,
    entity_type    text NOT NULL,
    entity_id_path text,
    roles          text[],
    CONSTRAINT event_type_recipients_pkey PRIMARY KEY (id),
    CONSTRAINT event_type_recipients_once UNIQUE NULLS NOT DISTINCT (event_type, user_type, entity_type, entity_id_path),
    CONSTRAINT event_type_recipients_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT event_type_recipients_path CHECK (entity_type IN ('ADMIN', 'BROADCAST') OR coalesce(entity_id_path, '') <> '')
);

COMMENT ON TABLE event_type_recipients IS 'The recipients of an event type. A row names a group or a person. A recipient in several rows is told once. Without a row the aggregate decides: RESTAURANT, its active members; AGENCY, its members with the role AGENT or MANAGER; CUSTOMER, that customer; ADMIN, all active admins; BROADCAST, all active recipients.';
COMMENT ON COLUMN event_type_recipients.id IS 'Number of the row.';
COMMENT ON COLUMN event_type_recipients.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_recipients.user_type IS 'Only recipients of this user_type. Null: any type.';
COMMENT ON COLUMN event_type_recipients.entity_type IS 'CUSTOMER: the customer at entity_id_path. ADMIN: all active admins. BROADCAST: all active recipients. Any other word: the active members of that entity.';
COMMENT ON COLUMN event_type_recipients.entity_id_path IS 'Where the id is in the payload: restaurantId, customer.id. With commas, the first path that exists counts. @aggregate: aggregate_id, if aggregate_type is entity_type. Null for ADMIN and BROADCAST.';
COMMENT ON COLUMN event_type_recipients.roles IS 'Only members with one of these roles. Null: any role. Empty: nobody. CUSTOMER, ADMIN and BROADCAST ignore it.';

CREATE TABLE event_type_channel_routing (
    event_type         text,
    channel_type       text,
    mandatory          boolean DEFAULT false NOT NULL,
    delivery_strategy  text DEFAULT 'IMMEDIATE' NOT NULL,
    delay              interval DEFAULT interval '00:00:00' NOT NULL,
    digest_window      interval DEFAULT interval '00:05:00' NOT NULL,
    quiet_hours_action text DEFAULT 'DROP' NOT NULL,
    priority           text,
    push_kind          text DEFAULT 'NOTIFICATION' NOT NULL,
    send_at_path       text,
    send_before        interval DEFAULT interval '00:00:00' NOT NULL,
    skip_if_past       boolean DEFAULT false NOT NULL,
    on_escalation_only boolean DEFAULT false NOT NULL,
    roles              text[],
    expires_after      interval,
    throttle_window    interval,
    throttle_key_path  text,
    digest_first       boolean DEFAULT false NOT NULL,
    digest_at          time,
    digest_days        text,
    once_per_address   boolean,
    CONSTRAINT event_type_channel_routing_pkey PRIMARY KEY (event_type, channel_type),
    CONSTRAINT event_type_channel_routing_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT event_type_channel_routing_delay CHECK (delay >= interval '00:00:00' AND delay <= interval '30 days'),
    CONSTRAINT event_type_channel_routing_delayed
        CHECK (delivery_strategy <> 'DELAYED' OR (delay > interval '00:00:00') <> (send_at_path IS NOT NULL)),
    CONSTRAINT event_type_channel_routing_digest_at
        CHECK ((digest_at IS NULL OR digest_at < time '24:00:00') AND (delivery_strategy = 'AGGREGATE' OR digest_at IS NULL AND NOT digest_first)),
    CONSTRAINT event_type_channel_routing_digest_days
        CHECK (digest_days IS NULL OR digest_at IS NOT NULL AND digest_days ~ '^(mon|tue|wed|thu|fri|sat|sun)(,(mon|tue|wed|thu|fri|sat|sun)){0,6}$'),
    CONSTRAINT event_type_channel_routing_digest_first CHECK (NOT digest_first OR throttle_window IS NULL),
    CONSTRAINT event_type_channel_routing_digest_window CHECK (digest_window >= interval '00:00:01' AND digest_window <= interval '7 days'),
    CONSTRAINT event_type_channel_routing_expires_after
        CHECK (expires_after >= interval '00:00:01' AND expires_after <= interval '365 days'),
    CONSTRAINT event_type_channel_routing_once_per_address CHECK (once_per_address IS NOT TRUE OR channel_type NOT IN ('WEBSOCKET', 'PUSH')),
    CONSTRAINT event_type_channel_routing_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW')),
    CONSTRAINT event_type_channel_routing_push_kind CHECK (push_kind IN ('NOTIFICATION', 'DATA')),
    CONSTRAINT event_type_channel_routing_quiet_hours_action CHECK (quiet_hours_action IN ('DROP', 'DEFER', 'IGNORE')),
    CONSTRAINT event_type_channel_routing_send_at_path CHECK (send_at_path IS NULL OR send_at_path <> '' AND delivery_strategy = 'DELAYED'),
    CONSTRAINT event_type_channel_routing_send_before CHECK (send_before >= interval '00:00:00' AND send_before <= interval '365 days'),
    CONSTRAINT event_type_channel_routing_strategy CHECK (delivery_strategy IN ('IMMEDIATE', 'DELAYED', 'AGGREGATE')),
    CONSTRAINT event_type_channel_routing_throttle_key CHECK (throttle_key_path IS NULL OR throttle_window IS NOT NULL),
    CONSTRAINT event_type_channel_routing_throttle_window
        CHECK (throttle_window >= interval '00:00:01' AND throttle_window <= interval '30 days'),
    CONSTRAINT event_type_channel_routing_time_of_send_at_path
        CHECK (send_at_path IS NOT NULL OR send_before = interval '00:00:00' AND NOT skip_if_past)
);

COMMENT ON TABLE event_type_channel_routing IS 'The channels of an event type. An event type without a row tells nobody (NO_ROUTING).';
COMMENT ON COLUMN event_type_channel_routing.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_channel_routing.channel_type IS 'One of channel.';
COMMENT ON COLUMN event_type_channel_routing.mandatory IS 'true: nobody can switch the channel off, and max_recipients and frequency_cap do not apply. All other rules do.';
COMMENT ON COLUMN event_type_channel_routing.delivery_strategy IS 'IMMEDIATE: at once. DELAYED: after delay, or at send_at_path. AGGREGATE: in a digest for one recipient and channel, of at most 100 events.';
COMMENT ON COLUMN event_type_channel_routing.delay IS 'For DELAYED: time from planning to sending, at most 30 days; 0 with send_at_path.';
COMMENT ON COLUMN event_type_channel_routing.digest_window IS 'For AGGREGATE: time from the first event to the digest, 1 second to 7 days.';
COMMENT ON COLUMN event_type_channel_routing.quiet_hours_action IS 'In quiet hours, mandatory or not. DROP: nothing is sent. DEFER: the delivery waits for their end, at most 48 hours. IGNORE: it is sent at any hour, such as a code or an alarm. WEBSOCKET and SLACK have none.';
COMMENT ON COLUMN event_type_channel_routing.priority IS 'HIGH, NORMAL or LOW: the order of waiting deliveries. Null: the recipient''s preference, else NORMAL.';
COMMENT ON COLUMN event_type_channel_routing.push_kind IS 'For PUSH. NOTIFICATION: the phone shows it; for an offline phone, Firebase may keep only the last. DATA: your app shows it; Firebase keeps a hundred.';
COMMENT ON COLUMN event_type_channel_routing.send_at_path IS 'For DELAYED: where the time of sending is in the payload: startsAt. With commas, the first path that exists counts. A text with a zone, such as 2026-11-23T09:30:00+01:00, or a number of milliseconds or seconds since 1970. A missing or malformed time makes the delivery FAILED. Null: delay counts.';
COMMENT ON COLUMN event_type_channel_routing.send_before IS 'How long before the time at send_at_path it is sent, by the recipient''s calendar: 1 day is the same time on the day before, 24 hours are 24 hours. At most 365 days.';
COMMENT ON COLUMN event_type_channel_routing.skip_if_past IS 'If the time at send_at_path is past at planning. true: decision SKIPPED. false: it is sent at once.';
COMMENT ON COLUMN event_type_channel_routing.on_escalation_only IS 'true: only event_type_escalation uses the channel.';
COMMENT ON COLUMN event_type_channel_routing.roles IS 'Only recipients with one of these roles, mandatory or not. Null: any role.';
COMMENT ON COLUMN event_type_channel_routing.expires_after IS 'Nothing is sent over the channel from this time after event_outbox.created_at on: 1 second to 365 days of 24 hours. An earlier event_outbox.expires_at counts. Null: no limit.';
COMMENT ON COLUMN event_type_channel_routing.throttle_window IS 'For this time after an event of the type over the channel, a recipient gets no other with the same key (THROTTLED), mandatory or not: 1 second to 30 days. Null: no limit.';
COMMENT ON COLUMN event_type_channel_routing.throttle_key_path IS 'Where the key of throttle_window is in the payload: sensorId. With commas, the first path that exists counts. Events without a value share one key. Null: all events share one.';
COMMENT ON COLUMN event_type_channel_routing.digest_first IS 'For AGGREGATE: the first event is sent at once, and the digest collects what follows. Not with throttle_window.';
COMMENT ON COLUMN event_type_channel_routing.digest_at IS 'For AGGREGATE: time of the digest on the recipient''s clock, instead of digest_window. user_settings.digest_at replaces it. Null: digest_window counts.';
COMMENT ON COLUMN event_type_channel_routing.digest_days IS 'With digest_at: the days of the week, such as mon,fri. Null: every day.';
COMMENT ON COLUMN event_type_channel_routing.once_per_address IS 'true: of several recipients of an event with the same address on the channel, only the first gets the message (SAME_ADDRESS for the others), mandatory or not. Null: true for SLACK, whose webhook belongs to a Slack channel, else false.';

CREATE TABLE event_category (
    event_type text,
    category   text NOT NULL,
    CONSTRAINT event_category_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_category_length CHECK (octet_length(category) BETWEEN 1 AND 60),
    CONSTRAINT event_category_printable CHECK (category !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]')
);

COMMENT ON TABLE event_category IS 'The category of each event type. Recipients switch off a category over a channel.';
COMMENT ON COLUMN event_category.event_type IS 'event_outbox.event_type; * has no meaning here. It may be a type that has not come yet.';
COMMENT ON COLUMN event_category.category IS 'Its name as recipients read it, such as offers: 1 to 60 bytes, printable.';

CREATE TABLE entity_notification_settings (
    entity_type          text NOT NULL,
    entity_id            text NOT NULL,
    channel_type         text NOT NULL,
    event_type           text,
    enabled              boolean DEFAULT true NOT NULL,
    max_recipients       integer,
    allowed_roles        text[],
    quiet_hours_start    time,
    quiet_hours_end      time,
    quiet_hours_timezone text,
    CONSTRAINT entity_notification_settings_once UNIQUE NULLS NOT DISTINCT (entity_type, entity_id, channel_type, event_type),
    CONSTRAINT entity_notification_settings_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT entity_notification_settings_max_recipients CHECK (max_recipients >= 0),
    CONSTRAINT entity_notification_settings_quiet_hours CHECK ((quiet_hours_start IS NULL) = (quiet_hours_end IS NULL)),
    CONSTRAINT entity_notification_settings_quiet_hours_differ CHECK (quiet_hours_start <> quiet_hours_end),
    CONSTRAINT entity_notification_settings_quiet_hours_in_day
        CHECK (quiet_hours_start < time '24:00:00' AND quiet_hours_end < time '24:00:00')
);

COMMENT ON TABLE entity_notification_settings IS 'What a group sets for its members. Without a row: on, any number, any role, no quiet hours. A row for an event type replaces the row for all event types. The rows of entity CUSTOMER, id 0, hold for all customers.';
COMMENT ON COLUMN entity_notification_settings.entity_type IS 'As in entity_member. CUSTOMER, ADMIN and BROADCAST: the recipients of such aggregates.';
COMMENT ON COLUMN entity_notification_settings.entity_id IS 'As in entity_member; 0 for CUSTOMER, ADMIN and BROADCAST.';
COMMENT ON COLUMN entity_notification_settings.channel_type IS 'One of channel.';
COMMENT ON COLUMN entity_notification_settings.event_type IS 'The event type that the row is for. Null: every event type without a separate row.';
COMMENT ON COLUMN entity_notification_settings.enabled IS 'false: the group switched the channel off (GROUP_DISABLED).';
COMMENT ON COLUMN entity_notification_settings.max_recipients IS 'Members that one event tells over the channel: MANAGER first, then by user_id. Recipients that another rule excludes do not count. 0: nobody. Null: any number.';
COMMENT ON COLUMN entity_notification_settings.allowed_roles IS 'Only members with one of these roles, mandatory or not. Null: any role. Empty: nobody.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_start IS 'Begin of the group''s quiet hours, inclusive. They hold for EMAIL, PUSH and SMS, mandatory or not. Null, as the end: none. Start = end: never quiet.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_end IS 'End of the quiet hours, exclusive. Earlier than the start: on the next day.';
COMMENT ON COLUMN entity_notification_settings.quiet_hours_timezone IS 'IANA time zone of the quiet hours. Null: the zone of each recipient.';

CREATE TABLE user_notification_preferences (
    user_type           text,
    user_id             text,
    channel_type        text,
    enabled             boolean DEFAULT true NOT NULL,
    quiet_hours_enabled boolean DEFAULT false NOT NULL,
    quiet_hours_start   time,
    quiet_hours_end     time,
    priority            text DEFAULT 'NORMAL' NOT NULL,
    changed_at          timestamptz,
    changed_by          text,
    CONSTRAINT user_notification_preferences_pkey PRIMARY KEY (user_type, user_id, channel_type),
    CONSTRAINT user_notification_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT user_notification_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT user_notification_preferences_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW')),
    CONSTRAINT user_notification_preferences_quiet_hours
        CHECK (NOT quiet_hours_enabled OR quiet_hours_start IS NOT NULL AND quiet_hours_end IS NOT NULL),
    CONSTRAINT user_notification_preferences_quiet_hours_differ
        CHECK (NOT quiet_hours_enabled OR quiet_hours_start <> quiet_hours_end),
    CONSTRAINT user_notification_preferences_quiet_hours_in_day
        CHECK (quiet_hours_start < time '24:00:00' AND quiet_hours_end < time '24:00:00')
);

COMMENT ON TABLE user_notification_preferences IS 'What a recipient sets for a channel. Without a row: on, no quiet hours, NORMAL.';
COMMENT ON COLUMN user_notification_preferences.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_notification_preferences.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_notification_preferences.channel_type IS 'One of channel.';
COMMENT ON COLUMN user_notification_preferences.enabled IS 'false: the recipient switched the channel off (USER_DISABLED).';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_enabled IS 'true: the recipient has quiet hours for EMAIL, PUSH or SMS, mandatory or not.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_start IS 'Begin of the quiet hours, inclusive, by user_settings.timezone, else recipient.timezone. Start = end: never quiet.';
COMMENT ON COLUMN user_notification_preferences.quiet_hours_end IS 'End of the quiet hours, exclusive. Earlier than the start: on the next day.';
COMMENT ON COLUMN user_notification_preferences.priority IS 'HIGH, NORMAL or LOW, if the routing has no priority.';
COMMENT ON COLUMN user_notification_preferences.changed_at IS 'When enabled last changed.';
COMMENT ON COLUMN user_notification_preferences.changed_by IS 'Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.';

CREATE TABLE user_category_preferences (
    user_type    text,
    user_id      text,
    category     text,
    channel_type text,
    enabled      boolean NOT NULL,
    changed_at   timestamptz,
    changed_by   text,
    CONSTRAINT user_category_preferences_pkey PRIMARY KEY (user_type, user_id, category, channel_type),
    CONSTRAINT user_category_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT user_category_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT user_category_preferences_category_length CHECK (octet_length(category) BETWEEN 1 AND 60)
);

COMMENT ON TABLE user_category_preferences IS 'What a recipient sets for a category over a channel.';
COMMENT ON COLUMN user_category_preferences.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_category_preferences.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_category_preferences.category IS 'event_category.category, compared as it stands.';
COMMENT ON COLUMN user_category_preferences.channel_type IS 'One of channel.';
COMMENT ON COLUMN user_category_preferences.enabled IS 'false: they have switched the category off over the channel (USER_DISABLED). Where the event type is mandatory, it is ignored.';
COMMENT ON COLUMN user_category_preferences.changed_at IS 'When enabled last changed.';
COMMENT ON COLUMN user_category_preferences.changed_by IS 'Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.';

CREATE TABLE user_settings (
    user_type text,
    user_id   text,
    timezone  text,
    digest_at time,
    CONSTRAINT user_settings_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT user_settings_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT user_settings_digest_at CHECK (digest_at < time '24:00:00')
);

COMMENT ON TABLE user_settings IS 'What recipients set for themselves. The directory may be a view, so these columns are separate.';
COMMENT ON COLUMN user_settings.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_settings.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_settings.timezone IS 'IANA time zone, such as Europe/Rome. It counts in place of recipient.timezone. Null: recipient.timezone counts.';
COMMENT ON COLUMN user_settings.digest_at IS 'The recipient gets digests at this time of day, if their routing has a digest_at. Null: at that time.';

CREATE TABLE frequency_cap (
    channel_type text NOT NULL,
    category     text,
    at_most      integer,
    per          interval,
    spacing      interval,
    action       text DEFAULT 'DROP' NOT NULL,
    CONSTRAINT frequency_cap_once UNIQUE NULLS NOT DISTINCT (channel_type, category),
    CONSTRAINT frequency_cap_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT frequency_cap_action CHECK (action IN ('DROP', 'DEFER')),
    CONSTRAINT frequency_cap_at_most CHECK (at_most BETWEEN 1 AND 100),
    CONSTRAINT frequency_cap_limit CHECK ((at_most IS NULL) = (per IS NULL) AND (at_most IS NOT NULL OR spacing IS NOT NULL)),
    CONSTRAINT frequency_cap_per CHECK (per >= interval '00:00:01' AND per <= interval '31 days'),
    CONSTRAINT frequency_cap_spacing CHECK (spacing >= interval '00:00:01' AND spacing <= interval '31 days')
);

COMMENT ON TABLE frequency_cap IS 'Limits on the messages to one recipient over a channel.';
COMMENT ON COLUMN frequency_cap.channel_type IS 'The channel that is limited.';
COMMENT ON COLUMN frequency_cap.category IS 'Limits the messages of this category. Null: all messages over the channel together. If both rows exist, both limits hold.';
COMMENT ON COLUMN frequency_cap.at_most IS 'A recipient gets at most so many messages in any window of per: 1 to 100. Mandatory messages are sent, and count. Null: only spacing limits.';
COMMENT ON COLUMN frequency_cap.per IS 'The window of at_most: 1 second to 31 days. A day has 24 hours.';
COMMENT ON COLUMN frequency_cap.spacing IS 'The least time between two messages: 1 second to 31 days. Null: none.';
COMMENT ON COLUMN frequency_cap.action IS 'What happens to a message over the limit. DROP: it is not sent (CAPPED). DEFER: it waits until there is room.';

CREATE TABLE notification_template (
    event_type   text DEFAULT '*',
    channel      text DEFAULT '*',
    locale       text DEFAULT 'en',
    title        text NOT NULL,
    body         text NOT NULL,
    channel_type text GENERATED ALWAYS AS (NULLIF(channel, '*')) STORED,
    shipped      boolean DEFAULT false NOT NULL,
    url          text,
    CONSTRAINT notification_template_pkey PRIMARY KEY (event_type, channel, locale),
    CONSTRAINT notification_template_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT notification_template_size CHECK (octet_length(title) + octet_length(body) <= 65536)
);

COMMENT ON TABLE notification_template IS 'The texts, as Go templates. The most specific row counts: first by event type, then by channel, then by locale. A delivery without a row is FAILED.';
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: all. digest: of digests. REVIEW_POSTED.digest: of digests of one event type.';
COMMENT ON COLUMN notification_template.channel IS 'The channel; *: all. A body for * is plain text, which EMAIL and SLACK turn into their markup.';
COMMENT ON COLUMN notification_template.locale IS 'en, it, it-CH. Upper and lower case, - and _ are the same.';
COMMENT ON COLUMN notification_template.title IS 'Template of the title: one line of plain text. EMAIL needs one.';
COMMENT ON COLUMN notification_template.body IS 'Template of the body: HTML for EMAIL, mrkdwn for SLACK, both of which escape values, else plain text.';
COMMENT ON COLUMN notification_template.channel_type IS 'channel as a reference to the table channel; null: *.';
COMMENT ON COLUMN notification_template.shipped IS 'true: the row came with Herald, and nobody changed it. An INSERT of the same key replaces it.';
COMMENT ON COLUMN notification_template.url IS 'Template of the link, over WEBSOCKET, WEBHOOK, PUSH and SLACK. Null: no link.';

-- A template that Herald ships gives way to one of the installation, which starter seed does not overwrite.
-- +goose StatementBegin
CREATE FUNCTION replace_shipped_template() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.shipped := false;
    ELSE
        DELETE FROM notification_template t
        WHERE  (t.event_type, t.channel, t.locale) = (NEW.event_type, NEW.channel, NEW.locale)
        AND    t.shipped;
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

INSERT INTO notification_template (event_type, channel, locale, title, body, shipped) VALUES
    ('digest', '*', 'en', '{{len .Items}} {{if eq (len .Items) 1}}notification{{else}}notifications{{end}}', '{{range .Items}}• {{.title}}: {{.body}}
{{end}}', true),
    ('digest', 'EMAIL', 'en', '{{len .Items}} {{if eq (len .Items) 1}}notification{{else}}notifications{{end}}', '<p>Hello {{.recipient.name}},</p>{{range .Items}}<h3>{{.title}}</h3><div>{{.body}}</div>{{end}}', true);

CREATE TRIGGER notification_template_shipped
    BEFORE INSERT OR UPDATE ON notification_template
    FOR EACH ROW
    EXECUTE FUNCTION replace_shipped_template();

-- +goose Down
DROP TABLE notification_template;
DROP TABLE frequency_cap;
DROP TABLE user_settings;
DROP TABLE user_category_preferences;
DROP TABLE user_notification_preferences;
DROP TABLE entity_notification_settings;
DROP TABLE event_category;
DROP TABLE event_type_channel_routing;
DROP TABLE event_type_recipients;
DROP TABLE channel_user_type;
DROP TABLE channel;
DROP FUNCTION replace_shipped_template();
