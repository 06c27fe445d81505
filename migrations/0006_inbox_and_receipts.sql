-- What recipients choose, and what providers say about messages.
-- +goose Up
CREATE TABLE herald_secret (
    fingerprint   text,
    since         timestamptz DEFAULT now() NOT NULL,
    superseded_at timestamptz,
    rekeyed_at    timestamptz,
    CONSTRAINT herald_secret_pkey PRIMARY KEY (fingerprint)
);

COMMENT ON TABLE herald_secret IS 'The fingerprints of the secrets by which this database knows addresses.';
COMMENT ON COLUMN herald_secret.fingerprint IS 'A hash of the secret, from which nobody can find the secret.';
COMMENT ON COLUMN herald_secret.since IS 'When the secret was first used.';
COMMENT ON COLUMN herald_secret.superseded_at IS 'When a process first came with a newer secret, and with this one as HERALD_SECRET_PREVIOUS. Null: this is the present HERALD_SECRET.';
COMMENT ON COLUMN herald_secret.rekeyed_at IS 'When `starter secret rekey` began to move suppressions to the newer secret. From then on a process that knows this secret alone does not start. Null: not yet.';

CREATE UNIQUE INDEX herald_secret_one_current ON herald_secret ((true)) WHERE superseded_at IS NULL;

CREATE TABLE delivery_receipt (
    provider    text,
    receipt_id  text,
    delivery_id text,
    message_id  text,
    at          timestamptz NOT NULL,
    received_at timestamptz DEFAULT now() NOT NULL,
    status      text NOT NULL,
    outcome     text,
    detail      text,
    CONSTRAINT delivery_receipt_pkey PRIMARY KEY (provider, receipt_id),
    CONSTRAINT delivery_receipt_detail_length CHECK (octet_length(detail) <= 1000),
    CONSTRAINT delivery_receipt_id_length CHECK (octet_length(receipt_id) BETWEEN 1 AND 200),
    CONSTRAINT delivery_receipt_outcome CHECK (outcome IN ('DELIVERED', 'FAILED')),
    CONSTRAINT delivery_receipt_provider CHECK (provider ~ '^[a-z]{1,20}$'),
    CONSTRAINT delivery_receipt_status_length CHECK (octet_length(status) BETWEEN 1 AND 40)
);

COMMENT ON TABLE delivery_receipt IS 'The receipts of providers, each once.';
COMMENT ON COLUMN delivery_receipt.provider IS 'sendgrid, twilio or vonage.';
COMMENT ON COLUMN delivery_receipt.receipt_id IS 'By which a repeat is known: SendGrid''s sg_event_id; of Twilio, the sid of the message and the status. Of a text that came in, its sid.';
COMMENT ON COLUMN delivery_receipt.delivery_id IS 'notification.delivery_id, or notification.digest_id where it is about all items of a digest. Null: it is about none, but a text that came in: STOP, START, HELP.';
COMMENT ON COLUMN delivery_receipt.message_id IS 'The provider''s id of the message, as in notification.provider_message_id: it tells which attempt it is about. Null: the receipt named none.';
COMMENT ON COLUMN delivery_receipt.at IS 'When it happened, by the provider''s clock; where the provider says no time, when it came.';
COMMENT ON COLUMN delivery_receipt.received_at IS 'When it came.';
COMMENT ON COLUMN delivery_receipt.status IS 'The provider''s word: delivered, bounce, dropped, deferred, open, undelivered and others.';
COMMENT ON COLUMN delivery_receipt.outcome IS 'What that means for the delivery: DELIVERED, it arrived; FAILED, it did not; null: neither.';
COMMENT ON COLUMN delivery_receipt.detail IS 'The provider''s reason, without an address; null: none.';

CREATE INDEX delivery_receipt_of_delivery ON delivery_receipt (delivery_id, at);
CREATE INDEX delivery_receipt_received_at ON delivery_receipt (received_at);

CREATE TABLE recipient_suppression (
    channel      text,
    address_hash bytea,
    reason       text,
    detail       text,
    since        timestamptz DEFAULT now() NOT NULL,
    secret       text,
    twin         boolean DEFAULT false NOT NULL,
    CONSTRAINT recipient_suppression_pkey PRIMARY KEY (channel, address_hash, reason),
    CONSTRAINT recipient_suppression_channel FOREIGN KEY (channel) REFERENCES channel,
    CONSTRAINT recipient_suppression_secret_fkey FOREIGN KEY (secret) REFERENCES herald_secret(fingerprint),
    CONSTRAINT recipient_suppression_detail_length CHECK (octet_length(detail) <= 1000),
    CONSTRAINT recipient_suppression_hash CHECK (octet_length(address_hash) = 32),
    CONSTRAINT recipient_suppression_reason CHECK (reason IN ('BOUNCE', 'COMPLAINT', 'OPT_OUT', 'INVALID'))
);

COMMENT ON TABLE recipient_suppression IS 'Addresses that get no message, mandatory or not (SUPPRESSED): they do not work, or their owner refused.';
COMMENT ON COLUMN recipient_suppression.channel IS 'One of channel.';
COMMENT ON COLUMN recipient_suppression.address_hash IS 'HMAC-SHA256 of the address with a key from the secret: no column holds the address.';
COMMENT ON COLUMN recipient_suppression.reason IS 'BOUNCE: the mailbox does not exist. COMPLAINT: it was reported as spam. OPT_OUT: the number answered STOP; START takes that back, and nothing else. INVALID: the provider says that it is no number, or none that gets messages.';
COMMENT ON COLUMN recipient_suppression.detail IS 'The provider''s or the operator''s words, without an address; null: none.';
COMMENT ON COLUMN recipient_suppression.since IS 'Since when.';
COMMENT ON COLUMN recipient_suppression.secret IS 'herald_secret.fingerprint of the secret behind address_hash, which stays known as long as a suppression needs it.';
COMMENT ON COLUMN recipient_suppression.twin IS 'true: the suppression stands under the newer secret too. This row is for processes that know the previous secret alone; `starter secret rekey` deletes it.';

CREATE INDEX recipient_suppression_since ON recipient_suppression (since, channel, address_hash, reason);

CREATE TABLE gateway_ticket (
    ticket_hash      bytea,
    user_type        text NOT NULL,
    user_id          text NOT NULL,
    token_expires_at timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    CONSTRAINT gateway_ticket_pkey PRIMARY KEY (ticket_hash)
);

COMMENT ON TABLE gateway_ticket IS 'Tickets, each for one socket at any gateway.';
COMMENT ON COLUMN gateway_ticket.ticket_hash IS 'Of the ticket, which stands nowhere.';
COMMENT ON COLUMN gateway_ticket.user_type IS 'Of the recipient.';
COMMENT ON COLUMN gateway_ticket.user_id IS 'Of the recipient.';
COMMENT ON COLUMN gateway_ticket.token_expires_at IS 'When the token expires by which the ticket was given, and with it the socket.';
COMMENT ON COLUMN gateway_ticket.expires_at IS 'When the ticket expires.';

CREATE INDEX gateway_ticket_expires_at ON gateway_ticket (expires_at);

CREATE TABLE preference_change (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    at         timestamptz DEFAULT now() NOT NULL,
    user_type  text,
    user_id    text,
    setting    text NOT NULL,
    channel    text,
    category   text,
    old_value  text,
    new_value  text,
    changed_by text DEFAULT COALESCE(NULLIF(current_setting('herald.changed_by', true), ''), SESSION_USER::text) NOT NULL,
    CONSTRAINT preference_change_pkey PRIMARY KEY (user_type, user_id, id),
    CONSTRAINT preference_change_differs CHECK (old_value IS DISTINCT FROM new_value),
    CONSTRAINT preference_change_setting CHECK (setting IN ('ENABLED', 'QUIET_HOURS', 'PRIORITY', 'TIMEZONE', 'DIGEST_AT'))
);

COMMENT ON TABLE preference_change IS 'Each change of user_notification_preferences, user_category_preferences and user_settings. Triggers write it.';
COMMENT ON COLUMN preference_change.id IS 'The order of the changes of one setting.';
COMMENT ON COLUMN preference_change.at IS 'When the transaction of the change began.';
COMMENT ON COLUMN preference_change.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN preference_change.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN preference_change.setting IS 'ENABLED, QUIET_HOURS, PRIORITY, TIMEZONE or DIGEST_AT.';
COMMENT ON COLUMN preference_change.channel IS 'One of channel. Null: the setting holds for all.';
COMMENT ON COLUMN preference_change.category IS 'event_category.category. Null: the setting holds for all.';
COMMENT ON COLUMN preference_change.old_value IS 'true, 22:00–08:00, NORMAL, Europe/Rome or 08:00. Null: no quiet hours, the zone of the directory, the usual time.';
COMMENT ON COLUMN preference_change.new_value IS 'As old_value.';
COMMENT ON COLUMN preference_change.changed_by IS 'Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.';

CREATE INDEX preference_change_at ON preference_change (at);

-- A writer names itself by the setting herald.changed_by.
-- +goose StatementBegin
CREATE FUNCTION record_consent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.enabled IS DISTINCT FROM OLD.enabled THEN
        NEW.changed_at := now();
        NEW.changed_by := coalesce(nullif(current_setting('herald.changed_by', true), ''), session_user);
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION record_preference_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO preference_change (user_type, user_id, channel, category, setting, old_value, new_value)
    SELECT p.r ->> 'user_type', p.r ->> 'user_id', p.r ->> 'channel_type', p.r ->> 'category', s.setting,
           coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value), coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value)
    FROM   (VALUES (false, to_jsonb(OLD)), (true, to_jsonb(NEW))) AS p (is_new, r)
    CROSS JOIN LATERAL (
        VALUES ('ENABLED', p.r ->> 'enabled', 'true'),
               ('PRIORITY', p.r ->> 'priority', 'NORMAL'),
               ('QUIET_HOURS', CASE WHEN (p.r ->> 'quiet_hours_enabled')::boolean AND p.r ->> 'quiet_hours_start' <> p.r ->> 'quiet_hours_end'
                                    THEN regexp_replace((p.r ->> 'quiet_hours_start') || '–' || (p.r ->> 'quiet_hours_end'), ':00(?=–|$)', '', 'g') END, NULL),
               ('TIMEZONE', p.r ->> 'timezone', NULL),
               ('DIGEST_AT', regexp_replace(p.r ->> 'digest_at', ':00$', ''), NULL)
    ) AS s (setting, value, default_value)
    WHERE  p.r IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, s.default_value
    HAVING coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value) IS DISTINCT FROM coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER user_category_preferences_change
    AFTER INSERT OR DELETE OR UPDATE ON user_category_preferences
    FOR EACH ROW
    EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_category_preferences_consent
    BEFORE INSERT OR UPDATE ON user_category_preferences
    FOR EACH ROW
    EXECUTE FUNCTION record_consent();

CREATE TRIGGER user_notification_preferences_change
    AFTER INSERT OR DELETE OR UPDATE ON user_notification_preferences
    FOR EACH ROW
    EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_notification_preferences_consent
    BEFORE INSERT OR UPDATE ON user_notification_preferences
    FOR EACH ROW
    EXECUTE FUNCTION record_consent();

CREATE TRIGGER user_settings_change
    AFTER INSERT OR DELETE OR UPDATE ON user_settings
    FOR EACH ROW
    EXECUTE FUNCTION record_preference_change();

-- An unsubscribe link, a receipt or a request that came before an erasure may write afterwards. leave_out_erased skips the
-- rows of erased people without an error.
-- +goose StatementBegin
CREATE FUNCTION leave_out_erased() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF EXISTS (SELECT FROM erased_recipient e WHERE (e.user_type, e.user_id) = (NEW.user_type::text, NEW.user_id::text)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- An application's view of devices gets no trigger.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT c.relname
        FROM   pg_class c
        WHERE  c.oid = ANY (ARRAY ['gateway_ticket', 'recipient_device', 'user_category_preferences', 'user_notification_preferences', 'user_settings']::regclass[])
        AND    c.relkind IN ('r', 'p')
    LOOP
        EXECUTE format('CREATE TRIGGER leave_out_erased BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION leave_out_erased()', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The functions that write for roles that may not write the table themselves run as their owner, in Herald's schema.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY ['record_preference_change', 'leave_out_erased'] LOOP
        EXECUTE format('ALTER FUNCTION %s() SET search_path = %I, pg_temp', name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION leave_out_erased() CASCADE;
DROP FUNCTION record_preference_change() CASCADE;
DROP FUNCTION record_consent() CASCADE;
DROP TABLE preference_change;
DROP TABLE gateway_ticket;
DROP TABLE recipient_suppression;
DROP TABLE delivery_receipt;
DROP TABLE herald_secret;
