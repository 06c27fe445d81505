-- The outbox of what becomes of deliveries, for other systems. `starter source migrate lifecycle` adds
-- the triggers that write it, and the index: without the triggers, nothing is written.
-- +goose Up
CREATE TABLE lifecycle_event (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_type     text        NOT NULL,
    payload        json        NOT NULL,
    correlation_id text,
    created_at     timestamptz NOT NULL DEFAULT now(),
    sent           boolean     NOT NULL DEFAULT false
);

COMMENT ON TABLE lifecycle_event IS 'What became of deliveries, for the source lifecycle: ids, reasons and times. It has the form of a wallet-hub outbox.';
COMMENT ON COLUMN lifecycle_event.id IS 'The order of changes of one delivery. lifecycle-{id} is the id that receivers get.';
COMMENT ON COLUMN lifecycle_event.event_type IS 'What happened: delivery.sent.';
COMMENT ON COLUMN lifecycle_event.payload IS 'The message, without text and address.';
COMMENT ON COLUMN lifecycle_event.correlation_id IS 'That of the event. Null: it has none.';
COMMENT ON COLUMN lifecycle_event.created_at IS 'When the transaction that changed the delivery began.';
COMMENT ON COLUMN lifecycle_event.sent IS 'Whether the topic or the webhook has it.';

-- A row's lock orders its changes, and so the ids of their rows here.
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

-- A recipient whose address is suppressed at planning has a decision and no delivery.
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

-- The functions run as their owner, so that no role needs a right to write lifecycle_event. No role
-- may use them in triggers of its own, or hide a table behind a temporary table.
-- +goose StatementBegin
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY ['write_delivery_lifecycle()', 'write_decision_lifecycle()', 'write_event_lifecycle()']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION write_delivery_lifecycle() CASCADE;
DROP FUNCTION write_decision_lifecycle() CASCADE;
DROP FUNCTION write_event_lifecycle() CASCADE;
DROP TABLE lifecycle_event;
