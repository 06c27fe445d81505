-- The outboxes that Herald relays, among them what becomes of deliveries.
-- +goose Up
CREATE TABLE source_position (
    source   text,
    slots    integer[],
    owner    text NOT NULL,
    position jsonb,
    CONSTRAINT source_position_pkey PRIMARY KEY (source, slots)
);

COMMENT ON TABLE source_position IS 'The position of the pollers in each outbox. A new poller continues where the last owner of its slots ended.';
COMMENT ON COLUMN source_position.source IS 'The outbox.';
COMMENT ON COLUMN source_position.slots IS 'The parts of the outbox''s keys that the poller owns.';
COMMENT ON COLUMN source_position.owner IS 'The poller that owns the slots, or did last.';
COMMENT ON COLUMN source_position.position IS 'The cursors of the poller''s walk, when it ended. Null: the poller runs or has died, and the next walk begins at the first row.';

CREATE TABLE source_start (
    source text,
    seq    bigint NOT NULL,
    CONSTRAINT source_start_pkey PRIMARY KEY (source)
);

COMMENT ON TABLE source_start IS 'The last event of event_outbox from before Herald''s own outbox got a topic.';
COMMENT ON COLUMN source_start.source IS 'herald.';
COMMENT ON COLUMN source_start.seq IS 'event_outbox.seq of that event.';

CREATE TABLE source_topic (
    source          text,
    topic           text,
    resting_since   timestamptz DEFAULT now() NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    error           text NOT NULL,
    CONSTRAINT source_topic_pkey PRIMARY KEY (source, topic)
);

COMMENT ON TABLE source_topic IS 'Topics that rest: they do not exist, Herald may not write them, or they have no leader.';
COMMENT ON COLUMN source_topic.source IS 'The outbox whose rows go to the topic.';
COMMENT ON COLUMN source_topic.topic IS 'The topic.';
COMMENT ON COLUMN source_topic.resting_since IS 'When the topic first took no record.';
COMMENT ON COLUMN source_topic.next_attempt_at IS 'When the topic is asked again.';
COMMENT ON COLUMN source_topic.error IS 'What the broker said last.';

CREATE TABLE source_row (
    source          text,
    row_key         text,
    event_id        text NOT NULL,
    key_hash        bigint,
    refusals        integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamptz,
    error           text,
    people_error    text,
    sent_at         timestamptz,
    failed_at       timestamptz,
    marked_at       timestamptz,
    CONSTRAINT source_row_pkey PRIMARY KEY (source, row_key),
    CONSTRAINT source_row_failed_says_why CHECK (failed_at IS NULL OR error IS NOT NULL),
    CONSTRAINT source_row_one_end CHECK (sent_at IS NULL OR failed_at IS NULL),
    CONSTRAINT source_row_refusals CHECK (refusals >= 0)
);

COMMENT ON TABLE source_row IS 'Rows of outboxes that their topic refused, that cannot tell people, or that cannot be marked in their table.';
COMMENT ON COLUMN source_row.source IS 'The outbox of the row.';
COMMENT ON COLUMN source_row.row_key IS 'The primary key of the row in its own table, as text.';
COMMENT ON COLUMN source_row.event_id IS 'The id of the row''s event, as in the header event_id of its record.';
COMMENT ON COLUMN source_row.key_hash IS 'A hash of the record''s key. While the record waits, later rows with the same hash wait. Null: the record has no key.';
COMMENT ON COLUMN source_row.refusals IS 'How often the topic refused the record, since the row was last begun.';
COMMENT ON COLUMN source_row.next_attempt_at IS 'When the record is produced again, or the row is marked again.';
COMMENT ON COLUMN source_row.error IS 'What the topic, or the row''s own table, said last.';
COMMENT ON COLUMN source_row.people_error IS 'Why the row tells no people. Its topic gets it all the same.';
COMMENT ON COLUMN source_row.sent_at IS 'When the row was sent. The row is here because it could not be marked in its own table, or tells no people.';
COMMENT ON COLUMN source_row.failed_at IS 'When the row was given up. `starter source retry` begins it again.';
COMMENT ON COLUMN source_row.marked_at IS 'When the row was marked in its own table. A failed row that is pending there after that was set back by its service.';

CREATE INDEX source_row_failed ON source_row (source, failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX source_row_held ON source_row (source, key_hash) WHERE refusals > 0 AND sent_at IS NULL AND failed_at IS NULL;

CREATE TABLE lifecycle_event (
    id             bigint GENERATED ALWAYS AS IDENTITY,
    event_type     text NOT NULL,
    payload        json NOT NULL,
    correlation_id text,
    created_at     timestamptz DEFAULT now() NOT NULL,
    sent           boolean DEFAULT false NOT NULL,
    CONSTRAINT lifecycle_event_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE lifecycle_event IS 'What became of deliveries, for the source lifecycle: ids, reasons and times. It has the form of a wallet-hub outbox.';
COMMENT ON COLUMN lifecycle_event.id IS 'The order of changes of one delivery. lifecycle-{id} is the id that receivers get.';
COMMENT ON COLUMN lifecycle_event.event_type IS 'What happened: delivery.sent.';
COMMENT ON COLUMN lifecycle_event.payload IS 'The message, without text and address.';
COMMENT ON COLUMN lifecycle_event.correlation_id IS 'That of the event. Null: it has none.';
COMMENT ON COLUMN lifecycle_event.created_at IS 'When the transaction that changed the delivery began.';
COMMENT ON COLUMN lifecycle_event.sent IS 'Whether the topic or the webhook has it.';

-- `starter source migrate lifecycle` adds the triggers that call these functions. Without them, nothing is written.
-- +goose StatementBegin
CREATE FUNCTION write_decision_lifecycle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT 'delivery.suppressed', o.correlation_id,
           json_build_object('type', 'delivery.suppressed', 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', o.event_type, 'correlation_id', o.correlation_id,
               'user_type', NEW.user_type, 'user_id', NEW.user_id, 'channel', c.key, 'reason', c.value)))
    FROM   jsonb_each_text(NEW.channels) AS c
    LEFT JOIN event_outbox o ON o.event_id = NEW.event_id
    WHERE  c.value = 'SUPPRESSED'
    AND    OLD.channels ->> c.key IS DISTINCT FROM c.value;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION write_delivery_lifecycle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT t.type, NEW.correlation_id,
           json_build_object('type', t.type, 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', NEW.event_type, 'correlation_id', NEW.correlation_id,
               'delivery_id', NEW.delivery_id, 'user_type', NEW.user_type, 'user_id', NEW.user_id, 'channel', NEW.channel,
               'status', NEW.status, 'reason', CASE WHEN NEW.status IN ('FAILED', 'CANCELLED') THEN NEW.last_error END,
               'provider', NEW.provider, 'attempts', NEW.attempt_count,
               'sent_at', NEW.sent_at, 'delivered_at', NEW.delivered_at, 'read_at', NEW.read_at)))
    FROM   unnest(ARRAY [
               CASE WHEN (NEW.status, NEW.delivery_id) IS NOT DISTINCT FROM (OLD.status, OLD.delivery_id) THEN NULL
                    WHEN NEW.delivery_id LIKE '%~' THEN NULL -- the next statement completes the id
                    WHEN NEW.status = 'PENDING' THEN 'delivery.planned'
                    WHEN NEW.status = 'CANCELLED' AND NEW.last_error = 'SUPPRESSED' THEN 'delivery.suppressed'
                    ELSE 'delivery.' || lower(NEW.status) END,
               CASE WHEN NEW.read_at IS NOT NULL AND OLD.read_at IS NULL THEN 'delivery.read' END]) WITH ORDINALITY AS t (type, n)
    WHERE  t.type IS NOT NULL
    ORDER BY t.n;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION write_event_lifecycle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT 'event.finished', o.correlation_id,
           json_build_object('type', 'event.finished', 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', o.event_type, 'correlation_id', o.correlation_id,
               'status', NEW.status, 'outcome', NEW.outcome)))
    FROM  (VALUES (NEW.event_id)) AS e (event_id)
    LEFT JOIN event_outbox o USING (event_id)
    WHERE  NEW.status IS DISTINCT FROM OLD.status;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- The functions that write for roles that may not write the table themselves run as their owner, in Herald's schema.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY ['write_decision_lifecycle', 'write_delivery_lifecycle', 'write_event_lifecycle'] LOOP
        EXECUTE format('ALTER FUNCTION %s() SET search_path = %I, pg_temp', name, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION write_decision_lifecycle() CASCADE;
DROP FUNCTION write_delivery_lifecycle() CASCADE;
DROP FUNCTION write_event_lifecycle() CASCADE;
DROP TABLE lifecycle_event;
DROP TABLE source_row;
DROP TABLE source_topic;
DROP TABLE source_start;
DROP TABLE source_position;
