-- The decisions, the deliveries and their attempts.
-- +goose Up
CREATE TABLE notification_decision (
    event_id     text,
    user_type    text,
    user_id      text,
    decided_at   timestamptz DEFAULT now() NOT NULL,
    channels     jsonb NOT NULL,
    throttled_by jsonb,
    CONSTRAINT notification_decision_pkey PRIMARY KEY (event_id, user_type, user_id),
    CONSTRAINT notification_decision_channels CHECK (jsonb_typeof(channels) = 'object')
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

COMMENT ON TABLE notification_decision IS 'The decisions about each recipient of an event.';
COMMENT ON COLUMN notification_decision.event_id IS 'Of the event.';
COMMENT ON COLUMN notification_decision.user_type IS 'Of the recipient.';
COMMENT ON COLUMN notification_decision.user_id IS 'Of the recipient.';
COMMENT ON COLUMN notification_decision.decided_at IS 'When the event was planned.';
COMMENT ON COLUMN notification_decision.channels IS 'The decision for each channel of the event type: {"EMAIL": "SELECTED", "PUSH": "USER_DISABLED"}.';
COMMENT ON COLUMN notification_decision.throttled_by IS 'The deliveries that the recipient got instead, by channel: {"SMS": "evt-1-customer42-SMS"}. Null: no decision is THROTTLED.';

CREATE INDEX notification_decision_decided_at ON notification_decision (decided_at);
CREATE INDEX notification_decision_recipient ON notification_decision (user_type, user_id, decided_at);

CREATE TABLE notification (
    id                  bigint GENERATED ALWAYS AS IDENTITY,
    event_id            text NOT NULL,
    event_type          text NOT NULL,
    user_type           text NOT NULL,
    user_id             text NOT NULL,
    channel             text NOT NULL,
    delivery_id         text NOT NULL,
    title               text,
    body                text,
    recipient_address   text,
    status              text DEFAULT 'PENDING' NOT NULL,
    strategy            text DEFAULT 'IMMEDIATE' NOT NULL,
    priority            text DEFAULT 'NORMAL' NOT NULL,
    send_after          timestamptz,
    attempt_count       integer DEFAULT 0 NOT NULL,
    last_error          text,
    provider_message_id text,
    digest_id           text,
    created_at          timestamptz DEFAULT now() NOT NULL,
    sent_at             timestamptz,
    delivered_at        timestamptz,
    read_at             timestamptz,
    entity_type         text,
    entity_id           text,
    correlation_id      text,
    restarts            integer DEFAULT 0 NOT NULL,
    available_at        timestamptz,
    receipt_failed      boolean DEFAULT false NOT NULL,
    escalates           boolean DEFAULT false NOT NULL,
    escalated_from      text,
    attempt_owner       text,
    attempt_until       timestamptz,
    attempt_began       timestamptz,
    next_attempt_at     timestamptz,
    operator_time       text,
    failed_child        boolean,
    expires_at          timestamptz,
    collapse_key        text,
    collapse_seq        bigint,
    replaced_by         text,
    provider            text,
    url                 text,
    address_hash        bytea,
    CONSTRAINT notification_pkey PRIMARY KEY (id),
    CONSTRAINT notification_delivery_id_once UNIQUE (delivery_id),
    CONSTRAINT notification_once UNIQUE (event_id, user_type, user_id, channel),
    CONSTRAINT notification_attempt_lease CHECK (num_nulls(attempt_owner, attempt_until, attempt_began) IN (0, 3)),
    CONSTRAINT notification_delivered_has_time CHECK (status <> 'DELIVERED' OR delivered_at IS NOT NULL),
    CONSTRAINT notification_failed_says_why CHECK (status <> 'FAILED' OR last_error IS NOT NULL),
    CONSTRAINT notification_operator_time CHECK (operator_time IN ('NOW', 'LATER')),
    CONSTRAINT notification_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW')),
    CONSTRAINT notification_sent_has_time CHECK (status NOT IN ('SENT', 'DELIVERED') OR sent_at IS NOT NULL),
    CONSTRAINT notification_status CHECK (status IN ('PENDING', 'SENT', 'DELIVERED', 'FAILED', 'CANCELLED')),
    CONSTRAINT notification_strategy CHECK (strategy IN ('IMMEDIATE', 'DELAYED', 'AGGREGATE')),
    CONSTRAINT notification_text_or_reason CHECK (title IS NOT NULL AND body IS NOT NULL OR last_error IS NOT NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

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
COMMENT ON COLUMN notification.recipient_address IS 'Address, number or webhook of the last attempt; before the first attempt, of the planning. Null: the channel has no addresses (WEBSOCKET, PUSH).';
COMMENT ON COLUMN notification.status IS 'PENDING: not sent yet. SENT: the provider accepted it. DELIVERED: a receipt says that it arrived; of WEBSOCKET, a client of the recipient acknowledged it, or they read it. FAILED: refused, attempts used up, or no text; or a receipt says that it did not arrive (receipt_failed). CANCELLED: by an operator, or dropped after a wait; last_error says which.';
COMMENT ON COLUMN notification.strategy IS 'IMMEDIATE, DELAYED or AGGREGATE, as routed when it was planned.';
COMMENT ON COLUMN notification.priority IS 'HIGH, NORMAL or LOW, by the routing or the preference.';
COMMENT ON COLUMN notification.send_after IS 'When it is to be sent: as planned for a delay or for the end of quiet hours, or as an operator rescheduled it. Null: at once, or with its digest.';
COMMENT ON COLUMN notification.attempt_count IS 'Attempts that were begun, including the attempt under way and the attempts of its digest.';
COMMENT ON COLUMN notification.last_error IS 'Why it is FAILED or CANCELLED, or what the last attempt met. It holds no address and no text.';
COMMENT ON COLUMN notification.provider_message_id IS 'The provider''s id of the message; null: it gave none.';
COMMENT ON COLUMN notification.digest_id IS 'The digest that it is or was sent in; null: none.';
COMMENT ON COLUMN notification.created_at IS 'When it was planned.';
COMMENT ON COLUMN notification.sent_at IS 'When the provider accepted it.';
COMMENT ON COLUMN notification.delivered_at IS 'When it arrived, by a receipt; of WEBSOCKET, when a client acknowledged it or it was read.';
COMMENT ON COLUMN notification.read_at IS 'When it was read; null: not known to be.';
COMMENT ON COLUMN notification.entity_type IS 'The group through which the recipient was told.';
COMMENT ON COLUMN notification.entity_id IS 'Id of that group.';
COMMENT ON COLUMN notification.correlation_id IS 'Of the event.';
COMMENT ON COLUMN notification.restarts IS 'How often the sweep has started its workflow again, 3 times at most.';
COMMENT ON COLUMN notification.available_at IS 'When its first attempt ended, sent or failed, and so when it came into the inbox: ids become visible out of order, and a delayed row has an old one. Null: no attempt has ended.';
COMMENT ON COLUMN notification.receipt_failed IS 'true: it is FAILED because a receipt says so, such as a bounce, after its provider had accepted it. No later answer or receipt changes that; a retry begins anew.';
COMMENT ON COLUMN notification.escalates IS 'true: at planning it matched a row of event_type_escalation, and a workflow Escalate waits next to its delivery.';
COMMENT ON COLUMN notification.escalated_from IS 'The delivery that it follows, since that one did not get there in time; null: its event planned it.';
COMMENT ON COLUMN notification.attempt_owner IS 'Who makes the attempt that is under way: the id of a workflow, and a random word. Null: nobody does.';
COMMENT ON COLUMN notification.attempt_until IS 'Until then nobody else may begin an attempt. In the past: the process died; who begins the next attempt writes this one down as LOST.';
COMMENT ON COLUMN notification.attempt_began IS 'When the attempt that is under way began.';
COMMENT ON COLUMN notification.next_attempt_at IS 'When its next attempt is due: after one that failed for now, at the end of quiet hours or of a cap''s wait, or when an operator wants it. No attempt begins before. Null: at once, or at send_after.';
COMMENT ON COLUMN notification.operator_time IS 'NOW: an operator sends it now, even in quiet hours. LATER: an operator has rescheduled it, and no attempt has begun since. Null: neither.';
COMMENT ON COLUMN notification.failed_child IS 'true: it failed for good in a batch, and the batch starts a failed workflow for it, so that operators find it in Temporal. false: the event has 1,000 of these already. Null: it did not fail in a batch.';
COMMENT ON COLUMN notification.expires_at IS 'No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.';
COMMENT ON COLUMN notification.collapse_key IS 'event_outbox.collapse_key of its event. Null: the event replaces no other one.';
COMMENT ON COLUMN notification.collapse_seq IS 'event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.';
COMMENT ON COLUMN notification.replaced_by IS 'The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.';
COMMENT ON COLUMN notification.provider IS 'The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none.';
COMMENT ON COLUMN notification.url IS 'Where it leads, from notification_template.url. Null: nowhere.';
COMMENT ON COLUMN notification.address_hash IS 'Hash of the planned address, if the routing tells each address once. Of an event and a channel, each address has one row. Null: the routing does not.';

CREATE UNIQUE INDEX notification_once_per_address ON notification (event_id, channel, address_hash)
    WHERE address_hash IS NOT NULL;
CREATE INDEX notification_collapse ON notification (user_type, user_id, event_type, collapse_key, collapse_seq)
    WHERE collapse_key IS NOT NULL AND replaced_by IS NULL;
CREATE INDEX notification_correlation_id ON notification (correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX notification_created_at ON notification (created_at);
CREATE INDEX notification_failed_child ON notification (event_id) WHERE failed_child;
CREATE INDEX notification_inbox_newest ON notification (user_type, user_id, available_at, id)
    WHERE channel = 'WEBSOCKET' AND available_at IS NOT NULL AND replaced_by IS NULL;
-- Vonage's reference has 100 bytes: of a longer id, its receipts have the hash.
CREATE FUNCTION long_id_hash(id text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT encode(sha256(convert_to(id, 'UTF8')), 'hex') $$;
CREATE INDEX notification_long_delivery_id ON notification (long_id_hash(delivery_id)) WHERE channel = 'SMS' AND octet_length(delivery_id) > 100;
CREATE INDEX notification_long_digest_id ON notification (long_id_hash(digest_id)) WHERE channel = 'SMS' AND octet_length(digest_id) > 100;
CREATE INDEX notification_of_digest ON notification (digest_id) WHERE digest_id IS NOT NULL;
CREATE INDEX notification_of_user ON notification (user_type, user_id, id DESC);
CREATE INDEX notification_to_aggregate ON notification (user_type, user_id, channel, event_type, id)
    WHERE strategy = 'AGGREGATE' AND status = 'PENDING';
CREATE INDEX notification_to_deliver ON notification (event_id, channel, (CASE WHEN send_after IS NULL AND strategy <> 'AGGREGATE' AND NOT escalates THEN 'NOW' ELSE 'LATER' END), id)
    WHERE status IN ('PENDING', 'FAILED') OR escalates;
CREATE INDEX notification_unread_newest ON notification (user_type, user_id, available_at, id)
    WHERE channel = 'WEBSOCKET' AND available_at IS NOT NULL AND replaced_by IS NULL AND read_at IS NULL;
CREATE INDEX notification_unsent ON notification (status, id) WHERE status IN ('PENDING', 'FAILED');

-- The deliveries of each of the first five user types.
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';

COMMENT ON VIEW restaurant_notification IS 'The rows of notification for RESTAURANT_USER.';
COMMENT ON VIEW customer_notification IS 'The rows of notification for CUSTOMER.';
COMMENT ON VIEW agency_notification IS 'The rows of notification for AGENCY_USER.';
COMMENT ON VIEW admin_notification IS 'The rows of notification for ADMIN.';
COMMENT ON VIEW guest_notification IS 'The rows of notification for GUEST.';

-- A gateway's role may read the texts of WEBSOCKET alone, by row-level security on notification, and all other
-- deliveries by this view: see docs/roles.md.
CREATE VIEW notification_state AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, digest_id, status, attempt_count, created_at,
       available_at, sent_at, delivered_at, read_at, provider_message_id, receipt_failed, escalates, last_error
FROM   notification;

COMMENT ON VIEW notification_state IS 'notification without titles, texts and addresses: what a gateway reads and changes of deliveries over other channels.';

-- A column of these views has the comment of the table's column.
-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.attrelid::regclass AS view, v.attname, col_description(n.attrelid, n.attnum) AS text
        FROM   pg_attribute v
        JOIN   pg_attribute n ON n.attrelid = 'notification'::regclass AND n.attname = v.attname
        WHERE  v.attrelid = ANY (ARRAY ['restaurant_notification', 'customer_notification', 'agency_notification', 'admin_notification', 'guest_notification', 'notification_state']::regclass[])
        AND    v.attnum > 0
    LOOP
        EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', said.view, said.attname, said.text);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The two tables of the design that Herald comes from: docs/coming-from.md. There, what is cancelled counts as failed.
CREATE VIEW notification_outbox AS
SELECT id,
       event_id,
       user_id AS recipient_id,
       user_type AS recipient_type,
       channel,
       title,
       body,
       recipient_address,
       CASE status WHEN 'SENT' THEN 'PUBLISHED' WHEN 'CANCELLED' THEN 'FAILED' ELSE status END AS status,
       created_at,
       sent_at AS published_at,
       delivered_at
FROM   notification;

-- Only channels that are retried had rows there.
CREATE VIEW notification_channel_send AS
SELECT id,
       id AS notification_id,
       channel AS channel_type,
       recipient_address,
       sent_at AS sent,
       CASE WHEN status IN ('SENT', 'DELIVERED') THEN 'SENT' WHEN status IN ('FAILED', 'CANCELLED') THEN 'FAILED' END AS status, -- null: not ended
       attempt_count,
       CASE WHEN status = 'PENDING' THEN coalesce(greatest(send_after, next_attempt_at), created_at) END AS next_retry_at,
       last_error,
       created_at
FROM   notification
WHERE  channel IN ('EMAIL', 'PUSH', 'SMS');

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
COMMENT ON COLUMN notification_channel_send.next_retry_at IS 'When the next attempt is due. Null: the delivery has ended.';
COMMENT ON COLUMN notification_channel_send.last_error IS 'As in notification.';
COMMENT ON COLUMN notification_channel_send.created_at IS 'As in notification.';

-- Postgres would pass some changes on to the table. A trigger for each statement fires only next to one for each row.
-- +goose StatementBegin
CREATE FUNCTION refuse_change_of_view() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'view % is read-only', TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported', HINT = 'Herald alone writes the table notification.';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER notification_outbox_is_read_only
    BEFORE INSERT OR DELETE OR UPDATE ON notification_outbox
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change_of_view();
CREATE TRIGGER notification_outbox_row_is_read_only
    INSTEAD OF INSERT OR DELETE OR UPDATE ON notification_outbox
    FOR EACH ROW
    EXECUTE FUNCTION refuse_change_of_view();

CREATE TRIGGER notification_channel_send_is_read_only
    BEFORE INSERT OR DELETE OR UPDATE ON notification_channel_send
    FOR EACH STATEMENT
    EXECUTE FUNCTION refuse_change_of_view();
CREATE TRIGGER notification_channel_send_row_is_read_only
    INSTEAD OF INSERT OR DELETE OR UPDATE ON notification_channel_send
    FOR EACH ROW
    EXECUTE FUNCTION refuse_change_of_view();

-- The word of a user type is in the ids of deliveries, so it must not change, and no word may begin with another.
-- +goose StatementBegin
CREATE FUNCTION check_user_type() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    other user_type;
BEGIN
    IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW IS DISTINCT FROM OLD)
        AND EXISTS (SELECT FROM notification WHERE user_type = OLD.user_type) THEN
        RAISE EXCEPTION 'user type % is in use: there are notifications to people of this type, whose ids hold the word %', OLD.user_type, OLD.who
            USING ERRCODE = 'restrict_violation', HINT = 'Add another user type instead.';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.user_type'));
    SELECT * INTO other
    FROM   user_type u
    WHERE  u.user_type <> NEW.user_type
    AND    (starts_with(u.who, NEW.who) OR starts_with(NEW.who, u.who));
    IF FOUND THEN
        RAISE EXCEPTION 'who % is too like % of user type %: one begins with the other, so that ids could not be told apart', NEW.who, other.who, other.user_type
            USING ERRCODE = 'check_violation', HINT = 'Choose a word that differs earlier.';
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER user_type_check
    AFTER INSERT OR DELETE OR UPDATE ON user_type
    FOR EACH ROW
    EXECUTE FUNCTION check_user_type();

CREATE TABLE delivery_attempt (
    delivery_id     text,
    attempt         integer,
    started_at      timestamptz DEFAULT now() NOT NULL,
    ended_at        timestamptz,
    outcome         text,
    provider_status integer,
    detail          text,
    took            interval,
    CONSTRAINT delivery_attempt_pkey PRIMARY KEY (delivery_id, attempt),
    CONSTRAINT delivery_attempt_of_notification FOREIGN KEY (delivery_id) REFERENCES notification(delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_attempt_ended_with_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT delivery_attempt_outcome
        CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'UNREACHABLE', 'UNAVAILABLE', 'ACCOUNT', 'AMBIGUOUS', 'ERROR', 'NOT_CONFIGURED', 'LOST'))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

COMMENT ON TABLE delivery_attempt IS 'The ended attempts to hand a delivery to its provider. notification has the attempt under way.';
COMMENT ON COLUMN delivery_attempt.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_attempt.attempt IS 'Number of the attempt, from 1.';
COMMENT ON COLUMN delivery_attempt.started_at IS 'Before the provider was called.';
COMMENT ON COLUMN delivery_attempt.ended_at IS 'When its result was recorded; of a LOST one, when that was noticed.';
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: never accepted. BUSY: not accepted, the provider wants it later. UNREACHABLE: there was no connection. UNAVAILABLE: not accepted, the provider was out of order. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. NOT_CONFIGURED: the worker has no settings for the channel. ERROR: the provider was not called for another reason. LOST: the process died in it, and the next attempt may repeat the message.';
COMMENT ON COLUMN delivery_attempt.provider_status IS 'HTTP status of the provider''s answer; null: there was none.';
COMMENT ON COLUMN delivery_attempt.detail IS 'What the provider said. It holds no address and no text.';
COMMENT ON COLUMN delivery_attempt.took IS 'How long the provider took to answer, or until the call was given up; of several devices, the slowest. Null: it was not called.';

CREATE TABLE delivery_retry (
    delivery_id       text,
    run_id            text,
    retried_at        timestamptz DEFAULT now() NOT NULL,
    again             boolean NOT NULL,
    status_before     text NOT NULL,
    error_before      text,
    message_id_before text,
    attempts_before   integer DEFAULT 0 NOT NULL,
    CONSTRAINT delivery_retry_pkey PRIMARY KEY (delivery_id, run_id),
    CONSTRAINT delivery_retry_of_notification FOREIGN KEY (delivery_id) REFERENCES notification(delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_retry_of_sent_is_wanted CHECK (again OR status_before NOT IN ('SENT', 'DELIVERED')),
    CONSTRAINT delivery_retry_status CHECK (status_before IN ('PENDING', 'SENT', 'DELIVERED', 'FAILED', 'CANCELLED'))
);

COMMENT ON TABLE delivery_retry IS 'The retries of deliveries that operators ordered.';
COMMENT ON COLUMN delivery_retry.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_retry.run_id IS 'The run of its workflow that makes it.';
COMMENT ON COLUMN delivery_retry.retried_at IS 'When the operator ordered it.';
COMMENT ON COLUMN delivery_retry.again IS 'true: the operator accepted that it had been sent already, or may have been.';
COMMENT ON COLUMN delivery_retry.status_before IS 'notification.status before it: PENDING, SENT, DELIVERED, FAILED or CANCELLED.';
COMMENT ON COLUMN delivery_retry.error_before IS 'notification.last_error before it.';
COMMENT ON COLUMN delivery_retry.message_id_before IS 'notification.provider_message_id before the retry: what a receipt says of that message does not change the delivery any more.';
COMMENT ON COLUMN delivery_retry.attempts_before IS 'notification.attempt_count before the retry: its attempts count anew.';

CREATE TABLE throttle (
    user_type    text,
    user_id      text,
    event_type   text,
    channel_type text,
    throttle_key text,
    delivery_id  text,
    began_at     timestamptz,
    ends_at      timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT throttle_pkey PRIMARY KEY (user_type, user_id, event_type, channel_type, throttle_key),
    CONSTRAINT throttle_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT throttle_user_type FOREIGN KEY (user_type) REFERENCES user_type
);

COMMENT ON TABLE throttle IS 'The last delivery of each recipient, event type, channel and key with a throttle_window. Planning locks the rows, so concurrent events take turns. The sweep deletes rows that are over.';
COMMENT ON COLUMN throttle.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN throttle.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN throttle.event_type IS 'Of the events.';
COMMENT ON COLUMN throttle.channel_type IS 'Of the deliveries.';
COMMENT ON COLUMN throttle.throttle_key IS 'A hash of the value at throttle_key_path. Empty: none. first: the first delivery of a digest_first.';
COMMENT ON COLUMN throttle.delivery_id IS 'The delivery that was planned. Null: none, planning locks the row. A delivery that ended FAILED or CANCELLED throttles nothing.';
COMMENT ON COLUMN throttle.began_at IS 'When the delivery was planned.';
COMMENT ON COLUMN throttle.ends_at IS 'When the window ends, by the routing at planning.';

CREATE INDEX throttle_ends ON throttle (ends_at);

CREATE TABLE counted_message (
    message_id   text,
    user_type    text NOT NULL,
    user_id      text NOT NULL,
    channel_type text NOT NULL,
    category     text NOT NULL,
    at           timestamptz NOT NULL,
    waits        boolean NOT NULL,
    place        bigint GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT counted_message_pkey PRIMARY KEY (message_id)
);

COMMENT ON TABLE counted_message IS 'The messages that a frequency_cap counts. Attempts write it. The sweep deletes rows that count no more.';
COMMENT ON COLUMN counted_message.message_id IS 'A delivery_id or a digest_id: a digest is one message.';
COMMENT ON COLUMN counted_message.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN counted_message.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN counted_message.channel_type IS 'Of the message.';
COMMENT ON COLUMN counted_message.category IS 'Of the event type. Empty: none.';
COMMENT ON COLUMN counted_message.at IS 'When the last attempt began. With waits: when the next attempt begins.';
COMMENT ON COLUMN counted_message.waits IS 'The message waits for room.';
COMMENT ON COLUMN counted_message.place IS 'The order of the messages that wait.';

CREATE INDEX counted_message_at ON counted_message (at);
CREATE INDEX counted_message_recipient ON counted_message (user_type, user_id, channel_type, at);

CREATE UNLOGGED TABLE channel_turn (
    channel text,
    next_at timestamptz NOT NULL,
    CONSTRAINT channel_turn_pkey PRIMARY KEY (channel)
) WITH (fillfactor = 10);

COMMENT ON TABLE channel_turn IS 'The next free turn of each channel, provider or destination with a rate limit, such as EMAIL_RATE_LIMIT.';
COMMENT ON COLUMN channel_turn.channel IS 'A channel, or a provider. With the hash of an address: a Slack webhook, or the host of a webhook.';
COMMENT ON COLUMN channel_turn.next_at IS 'When the first turn is due that nobody has taken, by the clock of this server. In the past: nobody waits.';

CREATE TABLE provider_state (
    provider        text,
    rests           integer DEFAULT 0 NOT NULL,
    rests_until     timestamptz,
    failure         text,
    override        text,
    override_by     text,
    override_reason text,
    changed_at      timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT provider_state_pkey PRIMARY KEY (provider),
    CONSTRAINT provider_state_failure_check CHECK (length(failure) <= 500),
    CONSTRAINT provider_state_override CHECK ((override IS NULL) = (override_by IS NULL)),
    CONSTRAINT provider_state_override_check CHECK (override IN ('PAUSED', 'USED')),
    CONSTRAINT provider_state_provider_check CHECK (provider ~ '^[a-z]{1,20}$'),
    CONSTRAINT provider_state_rests CHECK ((rests > 0) = (rests_until IS NOT NULL)),
    CONSTRAINT provider_state_rests_check CHECK (rests >= 0)
);

COMMENT ON TABLE provider_state IS 'Providers that have rested, or that an operator has paused or chosen. All processes read it every two seconds.';
COMMENT ON COLUMN provider_state.provider IS 'sendgrid, smtp, twilio, vonage, fcm or webpush.';
COMMENT ON COLUMN provider_state.rests IS 'Rests in a row. 0: it works.';
COMMENT ON COLUMN provider_state.rests_until IS 'Then one process sends one message as a probe. Null: it works.';
COMMENT ON COLUMN provider_state.failure IS 'The failure before the last rest.';
COMMENT ON COLUMN provider_state.override IS 'The operator''s order. PAUSED: it gets no messages. USED: it is asked first, even if it fails. Null: none.';
COMMENT ON COLUMN provider_state.override_by IS 'The operator.';
COMMENT ON COLUMN provider_state.override_reason IS 'The operator''s reason.';
COMMENT ON COLUMN provider_state.changed_at IS 'When the row was last changed.';

-- +goose Down
DROP VIEW notification_channel_send;
DROP VIEW notification_outbox;
DROP VIEW notification_state;
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
DROP TRIGGER user_type_check ON user_type;
DROP TABLE provider_state;
DROP TABLE channel_turn;
DROP TABLE counted_message;
DROP TABLE throttle;
DROP TABLE delivery_retry;
DROP TABLE delivery_attempt;
DROP TABLE notification;
DROP FUNCTION long_id_hash(text);
DROP TABLE notification_decision;
DROP FUNCTION check_user_type();
DROP FUNCTION refuse_change_of_view();
