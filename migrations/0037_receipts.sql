-- +goose Up
-- What became of a message after its provider took it. A column with a constant default is added without touching the rows.
ALTER TABLE notification
    ADD COLUMN receipt_failed boolean NOT NULL DEFAULT false,
    ADD COLUMN escalates      boolean NOT NULL DEFAULT false,
    ADD COLUMN escalated_from text;

COMMENT ON COLUMN notification.receipt_failed IS 'true: it is FAILED because a receipt says so, such as a bounce, after its provider had accepted it. No later answer or receipt changes that; a retry begins anew.';
COMMENT ON COLUMN notification.escalates IS 'true: a row of event_type_escalation held for it as it was planned, and a workflow Escalate waits beside its delivery.';
COMMENT ON COLUMN notification.escalated_from IS 'The delivery that it follows, since that one did not get there in time; null: its event planned it.';
COMMENT ON COLUMN notification.status IS 'PENDING: not sent yet. SENT: the provider accepted it. DELIVERED: a receipt says that it arrived; of WEBSOCKET, a client of the recipient acknowledged it, or they read it. FAILED: refused, attempts used up, or no text; or a receipt says that it did not arrive (receipt_failed). CANCELLED: by an operator, or dropped after a wait; last_error says which.';

CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';

-- The views of one user type have the columns of notification, and their comments.
-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.relname, a.attname, col_description(a.attrelid, a.attnum) AS text
        FROM   pg_class v
        JOIN   pg_attribute a ON a.attrelid = 'notification'::regclass AND a.attname IN ('receipt_failed', 'escalates', 'escalated_from', 'status')
        WHERE  v.oid IN ('restaurant_notification'::regclass, 'customer_notification'::regclass, 'agency_notification'::regclass,
                         'admin_notification'::regclass, 'guest_notification'::regclass)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', said.relname, said.attname, said.text);
    END LOOP;
END;
$$;
-- +goose StatementEnd

CREATE TABLE delivery_receipt (
    provider    text        NOT NULL,
    receipt_id  text        NOT NULL,
    delivery_id text, -- without a foreign key: it may be a digest's
    message_id  text, -- the provider's
    at          timestamptz NOT NULL, -- by the provider's clock
    received_at timestamptz NOT NULL DEFAULT now(),
    status      text        NOT NULL,
    outcome     text,
    detail      text,

    PRIMARY KEY (provider, receipt_id),
    CONSTRAINT delivery_receipt_provider CHECK (provider IN ('sendgrid', 'twilio')),
    CONSTRAINT delivery_receipt_id_length CHECK (octet_length(receipt_id) BETWEEN 1 AND 200),
    CONSTRAINT delivery_receipt_status_length CHECK (octet_length(status) BETWEEN 1 AND 40),
    CONSTRAINT delivery_receipt_outcome CHECK (outcome IN ('DELIVERED', 'FAILED')),
    CONSTRAINT delivery_receipt_detail_length CHECK (octet_length(detail) <= 1000)
);

CREATE INDEX delivery_receipt_of_delivery ON delivery_receipt (delivery_id, at);
CREATE INDEX delivery_receipt_received_at ON delivery_receipt (received_at);

COMMENT ON TABLE delivery_receipt IS 'What providers said about a message after they had accepted it, each once. They come late, twice and in any order.';
COMMENT ON COLUMN delivery_receipt.provider IS 'sendgrid or twilio.';
COMMENT ON COLUMN delivery_receipt.receipt_id IS 'By which a repeat is known: SendGrid''s sg_event_id; of Twilio, the sid of the message and the status. Of a text that came in, its sid.';
COMMENT ON COLUMN delivery_receipt.delivery_id IS 'notification.delivery_id, or notification.digest_id where it is about all items of a digest. Null: it is about none, but a text that came in: STOP, START, HELP.';
COMMENT ON COLUMN delivery_receipt.message_id IS 'The provider''s id of the message, as in notification.provider_message_id: it tells which attempt it is about. Null: the receipt named none.';
COMMENT ON COLUMN delivery_receipt.at IS 'When it happened, by the provider''s clock; where the provider says no time, when it came.';
COMMENT ON COLUMN delivery_receipt.received_at IS 'When it came.';
COMMENT ON COLUMN delivery_receipt.status IS 'The provider''s word: delivered, bounce, dropped, deferred, open, undelivered and others.';
COMMENT ON COLUMN delivery_receipt.outcome IS 'What that means for the delivery: DELIVERED, it arrived; FAILED, it did not; null: neither.';
COMMENT ON COLUMN delivery_receipt.detail IS 'The provider''s reason, without an address; null: none.';

CREATE TABLE recipient_suppression (
    channel      text        NOT NULL,
    address_hash bytea       NOT NULL,
    reason       text        NOT NULL,
    detail       text,
    since        timestamptz NOT NULL DEFAULT now(),

    PRIMARY KEY (channel, address_hash, reason),
    CONSTRAINT recipient_suppression_channel FOREIGN KEY (channel) REFERENCES channel,
    CONSTRAINT recipient_suppression_hash CHECK (octet_length(address_hash) = 32),
    CONSTRAINT recipient_suppression_reason CHECK (reason IN ('BOUNCE', 'COMPLAINT', 'OPT_OUT', 'INVALID')),
    CONSTRAINT recipient_suppression_detail_length CHECK (octet_length(detail) <= 1000)
);

CREATE INDEX recipient_suppression_since ON recipient_suppression (since, channel, address_hash, reason);

COMMENT ON TABLE recipient_suppression IS 'Addresses that nothing is sent to, mandatory or not (SUPPRESSED): they do not work, or their owner said no. `starter suppression` lists, adds and removes them.';
COMMENT ON COLUMN recipient_suppression.channel IS 'One of channel.';
COMMENT ON COLUMN recipient_suppression.address_hash IS 'HMAC-SHA256 of the address with a key from HERALD_SECRET: the address stands nowhere.';
COMMENT ON COLUMN recipient_suppression.reason IS 'BOUNCE: the mailbox does not exist. COMPLAINT: it was reported as spam. OPT_OUT: the number answered STOP; START takes that back, and nothing else. INVALID: the provider says that it is no number, or none that gets messages.';
COMMENT ON COLUMN recipient_suppression.detail IS 'The provider''s or the operator''s words, without an address; null: none.';
COMMENT ON COLUMN recipient_suppression.since IS 'Since when.';

ALTER TABLE event_type_channel_routing
    ADD COLUMN on_escalation_only boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN event_type_channel_routing.on_escalation_only IS 'true: the channel is used for nothing but what event_type_escalation sends over it.';

CREATE TABLE event_type_escalation (
    event_type   text     NOT NULL,
    from_channel text     NOT NULL,
    to_channel   text     NOT NULL,
    after        interval NOT NULL,
    until        text     NOT NULL,

    PRIMARY KEY (event_type, from_channel),
    CONSTRAINT event_type_escalation_from FOREIGN KEY (event_type, from_channel) REFERENCES event_type_channel_routing,
    CONSTRAINT event_type_escalation_to FOREIGN KEY (event_type, to_channel) REFERENCES event_type_channel_routing,
    CONSTRAINT event_type_escalation_after CHECK (after BETWEEN interval '1 second' AND interval '30 days'),
    CONSTRAINT event_type_escalation_until CHECK (until IN ('DELIVERED', 'READ')),
    CONSTRAINT event_type_escalation_known CHECK (until = 'READ' OR from_channel NOT IN ('PUSH', 'SLACK'))
);

COMMENT ON TABLE event_type_escalation IS 'What follows a delivery that did not get there in time, or failed: one over another channel, decided by the rules at that moment. Rows may follow one another, PUSH to SMS and SMS to EMAIL, and never in a circle.';
COMMENT ON COLUMN event_type_escalation.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_escalation.from_channel IS 'The channel of the delivery that is waited for. Both channels need a row in event_type_channel_routing, and neither may be AGGREGATE.';
COMMENT ON COLUMN event_type_escalation.to_channel IS 'The channel of the delivery that follows. Its row in event_type_channel_routing may be on_escalation_only.';
COMMENT ON COLUMN event_type_escalation.after IS 'How long it is waited for, from when it was to be sent: 1 second to 30 days. One that has failed is not waited for.';
COMMENT ON COLUMN event_type_escalation.until IS 'DELIVERED: until it has arrived, or was read; PUSH and SLACK cannot know that. READ: until the recipient has read any notification of the event.';

-- With two writers at once, the second sees what the first has written.
-- +goose StatementBegin
CREATE FUNCTION event_type_escalation_no_circle() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_type_escalation ' || NEW.event_type, 0));
    IF EXISTS (
        WITH RECURSIVE chain AS (
            SELECT NEW.to_channel AS channel
            UNION
            SELECT e.to_channel
            FROM   event_type_escalation e
            JOIN   chain c ON c.channel = e.from_channel
            WHERE  e.event_type = NEW.event_type
            AND    e.from_channel <> NEW.from_channel
        )
        SELECT FROM chain WHERE channel = NEW.from_channel
    ) THEN
        RAISE EXCEPTION 'the escalation of % from % to % closes a circle', NEW.event_type, NEW.from_channel, NEW.to_channel
            USING ERRCODE = 'check_violation', CONSTRAINT = 'event_type_escalation_no_circle', TABLE = 'event_type_escalation';
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER event_type_escalation_no_circle
    BEFORE INSERT OR UPDATE ON event_type_escalation
    FOR EACH ROW EXECUTE FUNCTION event_type_escalation_no_circle();

CREATE TABLE delivery_follow_up (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id text        NOT NULL,
    kind        text        NOT NULL,
    since       timestamptz NOT NULL DEFAULT now(),

    CONSTRAINT delivery_follow_up_kind CHECK (kind IN ('DEAD_LETTER', 'ESCALATION'))
);

COMMENT ON TABLE delivery_follow_up IS 'What is still to be done about deliveries whose status a receipt, an acknowledgement or a reader has changed. A worker does it, and deletes the row.';
COMMENT ON COLUMN delivery_follow_up.id IS 'The order in which it is done.';
COMMENT ON COLUMN delivery_follow_up.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_follow_up.kind IS 'DEAD_LETTER: tell the queue of dead letters that it has failed. ESCALATION: have the workflow that waits for it look at it.';
COMMENT ON COLUMN delivery_follow_up.since IS 'Since when.';

ALTER TABLE delivery_retry
    ADD COLUMN message_id_before text;

COMMENT ON COLUMN delivery_retry.message_id_before IS 'notification.provider_message_id before the retry: what a receipt says of that message does not change the delivery any more.';

COMMENT ON TABLE herald_secret IS 'By what a process knows that its HERALD_SECRET is the one that everything here was made with. One row, from when a process first had a secret. To change the secret, end all processes, delete the row, and start them with the new one: tickets that are not used yet, and the links in mails by which people unsubscribe, are void then, and so are the rows of recipient_suppression, whose hashes match no address any more.';

-- +goose Down
ALTER TABLE delivery_retry DROP COLUMN message_id_before;
DROP TABLE delivery_follow_up;
DROP TABLE event_type_escalation;
DROP FUNCTION event_type_escalation_no_circle;
ALTER TABLE event_type_channel_routing DROP COLUMN on_escalation_only;
DROP TABLE recipient_suppression;
DROP TABLE delivery_receipt;
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification
    DROP COLUMN escalated_from,
    DROP COLUMN escalates,
    DROP COLUMN receipt_failed;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
