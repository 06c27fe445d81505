-- +goose Up
-- Each reads its table once, beside its readers and writers. Until now a preference could name any type, and a schema that was taken back had no
-- types of its own: rows of a type that is not there concern nobody, and may wait for it.
-- +goose StatementBegin
DO $$
DECLARE
    reference record;
BEGIN
    FOR reference IN SELECT conrelid::regclass AS referring, conname FROM pg_constraint WHERE confrelid = 'user_type'::regclass AND NOT convalidated LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', reference.referring, reference.conname);
        EXCEPTION
            WHEN foreign_key_violation THEN
                RAISE WARNING '% has rows of user types that are not in user_type; new ones are refused', reference.referring;
        END;
    END LOOP;
END;
$$;
-- +goose StatementEnd

-- +goose Down
SELECT 1; -- the constraints go with the migration before
