-- What operators do, for the source lifecycle.
-- +goose Up
-- `starter source migrate lifecycle` adds the trigger that calls this function. Without it, nothing is written.
-- +goose StatementBegin
CREATE FUNCTION write_operator_lifecycle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO lifecycle_event (event_type, payload)
    VALUES ('operator.acted', json_build_object('type', 'operator.acted', 'timestamp', now(), 'data', json_build_object(
               'id', NEW.id, 'at', NEW.at, 'actor', NEW.actor, 'command', NEW.command, 'target', NEW.target)));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- The function writes for roles that may not write the table themselves, as its owner, in Herald's schema.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION write_operator_lifecycle() SET search_path = %I, pg_temp', current_schema());
    REVOKE EXECUTE ON FUNCTION write_operator_lifecycle() FROM PUBLIC;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION write_operator_lifecycle() CASCADE;
