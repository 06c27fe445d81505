-- The contract with producers: the schema of payloads, herald_emit, and who is not told about an event.
-- +goose Up
CREATE TABLE event_type_schema (
    event_type     text,
    payload_schema jsonb NOT NULL,
    CONSTRAINT event_type_schema_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_type_schema_object CHECK (jsonb_typeof(payload_schema) = 'object'),
    CONSTRAINT event_type_schema_size CHECK (octet_length(payload_schema::text) <= 65536)
);

COMMENT ON TABLE event_type_schema IS 'What the payloads of an event type look like. POST /api/events refuses other payloads, and `starter check` finds them among the last events. An INSERT is not checked.';
COMMENT ON COLUMN event_type_schema.event_type IS 'event_outbox.event_type.';
COMMENT ON COLUMN event_type_schema.payload_schema IS 'A JSON Schema of draft 2020-12, up to 64 KiB. A $ref stays in the schema; format is checked.';

ALTER TABLE event_outbox
    ADD COLUMN actor_type text,
    ADD COLUMN actor_id text,
    ADD COLUMN exclude text[];

-- Old rows have none, so nothing needs to read them.
ALTER TABLE event_outbox
    ADD CONSTRAINT event_outbox_actor CHECK ((actor_type IS NULL) = (actor_id IS NULL)
        AND octet_length(actor_type) BETWEEN 1 AND 100 AND octet_length(actor_id) BETWEEN 1 AND 100
        AND actor_type !~ '[[:cntrl:]/]' AND actor_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]') NOT VALID,
    ADD CONSTRAINT event_outbox_exclude CHECK (cardinality(exclude) <= 100 AND array_position(exclude, NULL) IS NULL
        AND octet_length(array_to_string(exclude, E'\n')) <= 10000
        AND array_to_string(exclude, E'\n') ~ '^([A-Z][A-Z0-9_]{0,29}/[^[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]+(\n|$))*$') NOT VALID;

COMMENT ON COLUMN event_outbox.actor_type IS 'The user_type of the person whose act caused the event. They are not told about it (ACTOR), unless the event names them as CUSTOMER, or tell_actor is true. Any other word means no person. Null: unknown.';
COMMENT ON COLUMN event_outbox.actor_id IS 'The user_id of that person. Null, as actor_type: unknown.';
COMMENT ON COLUMN event_outbox.exclude IS 'People who are not told about the event (EXCLUDED): up to 100 texts such as RESTAURANT_USER/10, user_type and user_id. Null: none.';

ALTER TABLE event_type_channel_routing ADD COLUMN tell_actor boolean DEFAULT false NOT NULL;

COMMENT ON COLUMN event_type_channel_routing.tell_actor IS 'true: the person in event_outbox.actor_type and actor_id is told over the channel like others.';

-- The columns that a role of producers may lack are named only if they have a value.
-- +goose StatementBegin
CREATE FUNCTION herald_emit(
    event_type text, aggregate_type text, aggregate_id text, payload jsonb,
    event_id text DEFAULT NULL, correlation_id text DEFAULT NULL, cancels text DEFAULT NULL, cancels_types text[] DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, collapse_key text DEFAULT NULL, traceparent text DEFAULT NULL,
    actor_type text DEFAULT NULL, actor_id text DEFAULT NULL, exclude text[] DEFAULT NULL
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    id text := coalesce(herald_emit.event_id, 'evt-' || gen_random_uuid());
BEGIN
    IF herald_emit.cancels IS NULL AND herald_emit.cancels_types IS NULL THEN
        INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, traceparent,
                                  actor_type, actor_id, exclude)
        VALUES (id, herald_emit.event_type, herald_emit.aggregate_type, herald_emit.aggregate_id, herald_emit.payload, herald_emit.correlation_id,
                herald_emit.expires_at, herald_emit.collapse_key, herald_emit.traceparent, herald_emit.actor_type, herald_emit.actor_id,
                herald_emit.exclude);
    ELSE
        INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, traceparent,
                                  actor_type, actor_id, exclude, cancels, cancels_types)
        VALUES (id, herald_emit.event_type, herald_emit.aggregate_type, herald_emit.aggregate_id, herald_emit.payload, herald_emit.correlation_id,
                herald_emit.expires_at, herald_emit.collapse_key, herald_emit.traceparent, herald_emit.actor_type, herald_emit.actor_id,
                herald_emit.exclude, herald_emit.cancels, herald_emit.cancels_types);
    END IF;
    RETURN id;
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION herald_emit IS 'Writes an event in the transaction of its caller, with the rights of its caller, and returns the event''s id.';

-- A caller needs USAGE on Herald's schema, but no search_path.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION herald_emit SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION herald_emit;
ALTER TABLE event_type_channel_routing DROP COLUMN tell_actor;
ALTER TABLE event_outbox DROP COLUMN exclude, DROP COLUMN actor_id, DROP COLUMN actor_type;
DROP TABLE event_type_schema;
