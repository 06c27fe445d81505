-- +goose Up
-- Events of other outboxes stand beside Herald's own. Columns that are null, or have a default that is the same for all rows, are added without
-- touching the rows. NOT VALID holds from now on, and reads no row; the next migration does.
ALTER TABLE event_outbox
    ADD COLUMN source text NOT NULL DEFAULT 'herald',
    ADD COLUMN sink_attempts int NOT NULL DEFAULT 0,
    ADD COLUMN acknowledged_at timestamptz,
    ALTER COLUMN aggregate_type DROP NOT NULL,
    ALTER COLUMN aggregate_id DROP NOT NULL,
    ALTER COLUMN payload DROP NOT NULL,
    DROP CONSTRAINT event_outbox_event_type_length,
    DROP CONSTRAINT event_outbox_aggregate_type_length,
    DROP CONSTRAINT event_outbox_aggregate_id_length,
    ADD CONSTRAINT event_outbox_source CHECK (source ~ '^[a-z0-9-]{1,30}$') NOT VALID,
    ADD CONSTRAINT event_outbox_sink_attempts CHECK (sink_attempts >= 0) NOT VALID,
    -- An event of another outbox goes to its topic as its table has it; only what people are told needs more.
    ADD CONSTRAINT event_outbox_complete CHECK (source <> 'herald' OR (aggregate_type IS NOT NULL AND aggregate_id IS NOT NULL AND payload IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT event_outbox_event_type_length CHECK (octet_length(event_type) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END) NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_type_length CHECK (octet_length(aggregate_type) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END) NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_id_length CHECK (octet_length(aggregate_id) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END) NOT VALID;

COMMENT ON COLUMN event_outbox.source IS 'The outbox that the event came from; herald: a producer wrote it here.';
COMMENT ON COLUMN event_outbox.sink_attempts IS 'How often the broker of its topic refused the event, since it was last begun.';
COMMENT ON COLUMN event_outbox.acknowledged_at IS 'When the broker of its topic acknowledged the event; for an event of another outbox that goes to no topic, when its workflow was started. Null: not yet, or it is Herald''s own and goes to no topic.';

-- +goose Down
DELETE FROM event_outbox WHERE source <> 'herald'; -- the release before would take them for its own
ALTER TABLE event_outbox
    DROP CONSTRAINT event_outbox_event_type_length,
    DROP CONSTRAINT event_outbox_aggregate_type_length,
    DROP CONSTRAINT event_outbox_aggregate_id_length,
    DROP CONSTRAINT event_outbox_complete,
    DROP COLUMN source,
    DROP COLUMN sink_attempts,
    DROP COLUMN acknowledged_at,
    ALTER COLUMN aggregate_type SET NOT NULL,
    ALTER COLUMN aggregate_id SET NOT NULL,
    ALTER COLUMN payload SET NOT NULL,
    ADD CONSTRAINT event_outbox_event_type_length CHECK (octet_length(event_type) BETWEEN 1 AND 100) NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_type_length CHECK (octet_length(aggregate_type) BETWEEN 1 AND 100) NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_id_length CHECK (octet_length(aggregate_id) BETWEEN 1 AND 100) NOT VALID;
