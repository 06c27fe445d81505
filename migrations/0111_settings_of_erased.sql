-- An unsubscribe link, a receipt or a request that came before an erasure may write afterwards.
-- +goose Up
-- leave_out_erased skips the rows of erased people without an error. It runs as its owner, because the writer may not read erased_recipient.
-- +goose StatementBegin
CREATE FUNCTION leave_out_erased() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF EXISTS (SELECT FROM erased_recipient e WHERE (e.user_type, e.user_id) = (NEW.user_type::text, NEW.user_id::text)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- An application's view of devices gets no trigger.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    EXECUTE format('ALTER FUNCTION leave_out_erased() SET search_path = %I, pg_temp', current_schema());
    REVOKE EXECUTE ON FUNCTION leave_out_erased() FROM PUBLIC;
    FOR name IN
        SELECT t.name
        FROM   unnest(ARRAY ['gateway_ticket', 'recipient_device', 'user_category_preferences', 'user_notification_preferences', 'user_settings']) AS t (name)
        WHERE  EXISTS (SELECT FROM pg_class c WHERE c.oid = t.name::regclass AND c.relkind IN ('r', 'p'))
    LOOP
        EXECUTE format('CREATE TRIGGER leave_out_erased BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION leave_out_erased()', name);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION leave_out_erased() CASCADE;
