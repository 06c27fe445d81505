-- +goose Up
-- An event may take back another, and a delivery may wait for a time that its event names. Producers and pollers wait for this only
-- for as long as it takes to note it: NOT VALID holds from now on, and reads no row; the next migration does.
ALTER TABLE event_outbox
    ADD COLUMN cancels text,
    -- As event_id: anything longer, or with control characters, is the id of no event.
    ADD CONSTRAINT event_outbox_cancels_length CHECK (octet_length(cancels) BETWEEN 1 AND 150) NOT VALID,
    ADD CONSTRAINT event_outbox_cancels_printable CHECK (cancels !~ '[[:cntrl:]]') NOT VALID,
    ADD CONSTRAINT event_outbox_cancels_another CHECK (cancels <> event_id) NOT VALID;

COMMENT ON COLUMN event_outbox.cancels IS 'The event_id of an event that this one takes back: what that one has not sent yet is cancelled, also if it comes later. Null: none.';

ALTER TABLE event_type_channel_routing
    ADD COLUMN send_at_path text,
    ADD COLUMN send_before interval NOT NULL DEFAULT '0',
    ADD COLUMN skip_if_past boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT event_type_channel_routing_delayed,
    -- DELAYED is by a delay, or until a time; never both.
    ADD CONSTRAINT event_type_channel_routing_delayed CHECK (delivery_strategy <> 'DELAYED' OR (delay > interval '0') <> (send_at_path IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT event_type_channel_routing_send_at_path CHECK (send_at_path IS NULL OR (send_at_path <> '' AND delivery_strategy = 'DELAYED')) NOT VALID,
    ADD CONSTRAINT event_type_channel_routing_send_before CHECK (send_before BETWEEN interval '0' AND interval '365 days') NOT VALID,
    ADD CONSTRAINT event_type_channel_routing_time_of_send_at_path CHECK (send_at_path IS NOT NULL OR (send_before = interval '0' AND NOT skip_if_past)) NOT VALID;

COMMENT ON COLUMN event_type_channel_routing.send_at_path IS 'Where the payload has the time at which a DELAYED delivery is sent: startsAt, appointment.startsAt; several, separated by commas: the first that is there counts. The time is a string with a zone: 2026-11-23T09:30:00+01:00. If it is missing or malformed, the delivery is FAILED. Null: it is sent after delay.';
COMMENT ON COLUMN event_type_channel_routing.send_before IS 'How long before the time at send_at_path it is sent; 0: at that time. A day is 24 hours. At most 365 days.';
COMMENT ON COLUMN event_type_channel_routing.skip_if_past IS 'What becomes of a delivery whose time is past when the event is planned. true: it is not made, and the decision is SKIPPED; false: it is sent at once.';

-- +goose Down
DELETE FROM event_type_channel_routing WHERE send_at_path IS NOT NULL; -- the release before knows no such rows, and would send at once
ALTER TABLE event_type_channel_routing
    DROP CONSTRAINT event_type_channel_routing_delayed,
    DROP COLUMN send_at_path,
    DROP COLUMN send_before,
    DROP COLUMN skip_if_past,
    ADD CONSTRAINT event_type_channel_routing_delayed CHECK (delivery_strategy <> 'DELAYED' OR delay > interval '0') NOT VALID;
ALTER TABLE event_outbox DROP COLUMN cancels;
