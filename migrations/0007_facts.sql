-- +goose Up
-- Columns that are null, or have a constant default, are added without touching the rows.
ALTER TABLE notification
    ADD COLUMN entity_type    text, -- the group through which the recipient was told: all of restaurant 5; null: planned before there was this column
    ADD COLUMN entity_id      text,
    ADD COLUMN correlation_id text, -- the event's
    ADD COLUMN restarts       int NOT NULL DEFAULT 0; -- how often the sweep has started its workflow again

ALTER TABLE processed_event
    ADD COLUMN outcome  text, -- of an event that did not simply reach people: NO_RECIPIENTS, NO_ROUTING, INCOMPLETE, CANCELLED, FAILED
    ADD COLUMN restarts int NOT NULL DEFAULT 0; -- how often the sweep has started its workflow again

ALTER TABLE event_type_channel_routing
    ADD COLUMN push_kind text NOT NULL DEFAULT 'NOTIFICATION', -- DATA: the app shows it; each one reaches a phone that was offline
    ADD CONSTRAINT event_type_channel_routing_push_kind CHECK (push_kind IN ('NOTIFICATION', 'DATA'));

ALTER TABLE entity_notification_settings
    ADD COLUMN quiet_hours_start    time, -- inclusive; null, as the end: the group has none
    ADD COLUMN quiet_hours_end      time, -- exclusive; before the start: the next day
    ADD COLUMN quiet_hours_timezone text, -- IANA; null: each recipient's
    ADD CONSTRAINT entity_notification_settings_quiet_hours CHECK ((quiet_hours_start IS NULL) = (quiet_hours_end IS NULL)),
    ADD CONSTRAINT entity_notification_settings_quiet_hours_in_day CHECK (quiet_hours_start < time '24:00' AND quiet_hours_end < time '24:00'),
    ADD CONSTRAINT entity_notification_settings_quiet_hours_timezone CHECK ((timestamptz '2000-01-01 00:00Z' AT TIME ZONE quiet_hours_timezone) IS NOT NULL OR quiet_hours_timezone IS NULL);

-- Who changed what, through `starter`.
CREATE TABLE operator_action (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    actor   text        NOT NULL, -- HERALD_ACTOR, else user@host
    command text        NOT NULL, -- event retry, delivery cancel, purge, …
    target  text        NOT NULL, -- an event id, a delivery id, a poller's workflow id, a table; with many: the filter
    detail  text        NOT NULL DEFAULT '' -- never an address or a text
);

CREATE INDEX operator_action_target ON operator_action (target, id);

-- What an operator's terminal would obey is refused: control characters, ASCII's and others, and those that turn the direction of
-- writing. NOT VALID holds from now on, and reads no row; the next migration looks at the old ones.
ALTER TABLE event_outbox
    ADD CONSTRAINT event_outbox_event_type_printable CHECK (event_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]') NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_type_printable CHECK (aggregate_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]') NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_id_printable CHECK (aggregate_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]') NOT VALID,
    ADD CONSTRAINT event_outbox_correlation_id_printable CHECK (correlation_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]') NOT VALID;

-- NOTIFY serialises the commits of everybody who sends it, so at most one transaction at a time does. The others rely on the
-- poller, which looks again every few tens of milliseconds after a wake-up until nothing has come for a second.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION notify_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_try_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.event_outbox')) THEN
        PERFORM pg_notify('event_outbox', '');
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION notify_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('event_outbox', '');
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
ALTER TABLE event_outbox
    DROP CONSTRAINT event_outbox_event_type_printable,
    DROP CONSTRAINT event_outbox_aggregate_type_printable,
    DROP CONSTRAINT event_outbox_aggregate_id_printable,
    DROP CONSTRAINT event_outbox_correlation_id_printable;
DROP TABLE operator_action;
ALTER TABLE entity_notification_settings
    DROP COLUMN quiet_hours_start,
    DROP COLUMN quiet_hours_end,
    DROP COLUMN quiet_hours_timezone;
ALTER TABLE event_type_channel_routing
    DROP COLUMN push_kind;
ALTER TABLE processed_event
    DROP COLUMN outcome,
    DROP COLUMN restarts;
ALTER TABLE notification
    DROP COLUMN entity_type,
    DROP COLUMN entity_id,
    DROP COLUMN correlation_id,
    DROP COLUMN restarts;
