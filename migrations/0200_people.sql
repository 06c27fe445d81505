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

-- +goose Down
ALTER TABLE event_outbox DROP COLUMN cancels_types, DROP CONSTRAINT event_outbox_expires_at, DROP CONSTRAINT event_outbox_created_at;
DROP TRIGGER event_outbox_expiry ON event_outbox;
DROP FUNCTION event_outbox_expiry();
