-- What follows a delivery that does not reach its recipient in time.
-- +goose Up
CREATE TABLE event_type_escalation (
    event_type     text,
    from_channel   text,
    to_channel     text NOT NULL,
    after          interval NOT NULL,
    until          text NOT NULL,
    if_unreachable boolean DEFAULT true NOT NULL,
    confirms       boolean GENERATED ALWAYS AS ( CASE until WHEN 'DELIVERED' THEN true ELSE NULL::boolean END) STORED,
    CONSTRAINT event_type_escalation_pkey PRIMARY KEY (event_type, from_channel),
    CONSTRAINT event_type_escalation_from
        FOREIGN KEY (event_type, from_channel) REFERENCES event_type_channel_routing(event_type, channel_type),
    CONSTRAINT event_type_escalation_known FOREIGN KEY (from_channel, confirms) REFERENCES channel(channel_type, confirms),
    CONSTRAINT event_type_escalation_to
        FOREIGN KEY (event_type, to_channel) REFERENCES event_type_channel_routing(event_type, channel_type),
    CONSTRAINT event_type_escalation_after CHECK (after >= interval '00:00:01' AND after <= interval '30 days'),
    CONSTRAINT event_type_escalation_until CHECK (until IN ('DELIVERED', 'READ'))
);

COMMENT ON TABLE event_type_escalation IS 'The delivery that follows over another channel if one does not arrive in time, or fails. The rules decide about it at that moment. Rows may form a chain, PUSH to SMS to EMAIL, and no circle.';
COMMENT ON COLUMN event_type_escalation.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_escalation.from_channel IS 'The channel of the first delivery. Both channels need a row in event_type_channel_routing that is not AGGREGATE.';
COMMENT ON COLUMN event_type_escalation.to_channel IS 'The channel of the delivery that follows. Its routing may be on_escalation_only.';
COMMENT ON COLUMN event_type_escalation.after IS 'Wait from the time of sending: 1 second to 30 days. A failed delivery escalates at once.';
COMMENT ON COLUMN event_type_escalation.until IS 'DELIVERED: the wait ends when the message has arrived or was read; from_channel must be able to know that (channel.confirms). READ: when the recipient has read any notification of the event.';
COMMENT ON COLUMN event_type_escalation.if_unreachable IS 'true: a recipient without a usable address for from_channel is told over to_channel at once. false: nothing follows.';
COMMENT ON COLUMN event_type_escalation.confirms IS 'Herald''s: true if until is DELIVERED.';

-- A circle would tell somebody for ever. Concurrent transactions take turns, because neither sees the row of the other.
-- +goose StatementBegin
CREATE FUNCTION event_type_escalation_no_circle() RETURNS trigger LANGUAGE plpgsql AS $$
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
    FOR EACH ROW
    EXECUTE FUNCTION event_type_escalation_no_circle();

CREATE TABLE delivery_follow_up (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    delivery_id text NOT NULL,
    kind        text NOT NULL,
    since       timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT delivery_follow_up_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE delivery_follow_up IS 'Work that follows a receipt, an acknowledgement, a reader, the end of an attempt in a batch or a replacement: a dead letter, an escalation, a workflow to cancel.';
COMMENT ON COLUMN delivery_follow_up.id IS 'The order in which it is done.';
COMMENT ON COLUMN delivery_follow_up.delivery_id IS 'notification.delivery_id.';
COMMENT ON COLUMN delivery_follow_up.kind IS 'DEAD_LETTER: publish a dead letter. ESCALATION: wake the workflow that waits. REPLACED: cancel the workflow of the delivery.';
COMMENT ON COLUMN delivery_follow_up.since IS 'Since when.';

CREATE INDEX delivery_follow_up_delivery ON delivery_follow_up (delivery_id);

-- +goose Down
DROP TABLE delivery_follow_up;
DROP TABLE event_type_escalation;
DROP FUNCTION event_type_escalation_no_circle();
