-- +goose Up
-- What a producer may write as a time: infinity is never, the past has expired, and what JSON cannot say is refused.
-- +goose StatementBegin
CREATE FUNCTION event_outbox_expiry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.expires_at := CASE WHEN NEW.expires_at < 'infinity' THEN timestamptz '1970-01-01 00:00Z' END;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER event_outbox_expiry
    BEFORE INSERT OR UPDATE OF expires_at ON event_outbox
    FOR EACH ROW WHEN (NEW.expires_at = 'infinity' OR NEW.expires_at < timestamptz '1970-01-01 00:00Z') EXECUTE FUNCTION event_outbox_expiry();

ALTER TABLE event_outbox
    ADD CONSTRAINT event_outbox_created_at CHECK (created_at >= timestamptz '1970-01-01 00:00Z' AND created_at < timestamptz '10000-01-01 00:00Z'),
    ADD CONSTRAINT event_outbox_expires_at CHECK (expires_at < timestamptz '10000-01-01 00:00Z');
COMMENT ON COLUMN event_outbox.expires_at IS 'Nothing of the event is sent from this time on. Null or infinity: no limit. A time before 1970 is stored as 1970: the event has expired.';

-- The types of event that cancels may name.
ALTER TABLE event_outbox ADD COLUMN cancels_types text[];
ALTER TABLE event_outbox ADD CONSTRAINT event_outbox_cancels_types CHECK (cancels_types IS NULL OR cancels IS NOT NULL);
COMMENT ON COLUMN event_outbox.cancels_types IS 'Event types that cancels may cancel: an event of another type stays. Null: every type. POST /api/events writes the types of the producer''s token.';

-- Devices leave by age.
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient_device')) IN ('r', 'p') THEN
        ALTER TABLE recipient_device ADD COLUMN registered_at timestamptz NOT NULL DEFAULT now();
        COMMENT ON COLUMN recipient_device.registered_at IS 'When the device was last registered. A push goes to the 50 newest devices. A view may leave it out.';
    END IF;
END;
$$;
-- +goose StatementEnd

ALTER TABLE event_type_channel_routing
    DROP CONSTRAINT event_type_channel_routing_quiet_hours_action,
    ADD CONSTRAINT event_type_channel_routing_quiet_hours_action CHECK (quiet_hours_action IN ('DROP', 'DEFER', 'IGNORE'));
COMMENT ON COLUMN event_type_channel_routing.quiet_hours_action IS 'In quiet hours, mandatory or not. DROP: nothing is sent. DEFER: the delivery waits for their end, at most 48 hours. IGNORE: it is sent at any hour, such as a code or an alarm. WEBSOCKET and SLACK have none.';

ALTER TABLE user_notification_preferences ADD CONSTRAINT user_notification_preferences_quiet_hours_differ CHECK (NOT quiet_hours_enabled OR quiet_hours_start <> quiet_hours_end);
ALTER TABLE entity_notification_settings ADD CONSTRAINT entity_notification_settings_quiet_hours_differ CHECK (quiet_hours_start <> quiet_hours_end);

-- Vonage's reference has 100 bytes: of a longer id, its receipts have the hash.
CREATE FUNCTION long_id_hash(id text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT encode(sha256(convert_to(id, 'UTF8')), 'hex') $$;
CREATE INDEX notification_long_delivery_id ON notification (long_id_hash(delivery_id)) WHERE channel = 'SMS' AND octet_length(delivery_id) > 100;
CREATE INDEX notification_long_digest_id ON notification (long_id_hash(digest_id)) WHERE channel = 'SMS' AND octet_length(digest_id) > 100;

-- +goose Down
DROP INDEX notification_long_digest_id;
DROP INDEX notification_long_delivery_id;
DROP FUNCTION long_id_hash(text);
ALTER TABLE entity_notification_settings DROP CONSTRAINT entity_notification_settings_quiet_hours_differ;
ALTER TABLE user_notification_preferences DROP CONSTRAINT user_notification_preferences_quiet_hours_differ;
ALTER TABLE event_type_channel_routing
    DROP CONSTRAINT event_type_channel_routing_quiet_hours_action,
    ADD CONSTRAINT event_type_channel_routing_quiet_hours_action CHECK (quiet_hours_action IN ('DROP', 'DEFER'));
ALTER TABLE recipient_device DROP COLUMN registered_at;
ALTER TABLE event_outbox DROP COLUMN cancels_types, DROP CONSTRAINT event_outbox_expires_at, DROP CONSTRAINT event_outbox_created_at;
DROP TRIGGER event_outbox_expiry ON event_outbox;
DROP FUNCTION event_outbox_expiry();
