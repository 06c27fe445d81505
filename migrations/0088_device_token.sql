-- A token moves to the recipient who signs in on the device, so it is looked up alone. Reads continue
-- while the index is built. A view gets no index from Herald.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient_device')) = 'r' THEN
        CREATE INDEX IF NOT EXISTS recipient_device_token ON recipient_device (token);
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP INDEX IF EXISTS recipient_device_token;
