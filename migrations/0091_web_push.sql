-- A device may be a browser. The token says so, so a view of an application needs no further column.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient_device')) IN ('r', 'p') THEN
        COMMENT ON COLUMN recipient_device.token IS 'Registration token of Firebase Cloud Messaging, or the JSON of a browser''s PushSubscription, which begins with {. Up to 1,024 bytes; a secret.';
        COMMENT ON COLUMN recipient_device.active IS 'false: the device gets nothing. Herald sets it when Firebase or the browser''s push service calls the token dead, and changes nothing else in the directory.';
    END IF;
END
$$;
-- +goose StatementEnd
COMMENT ON COLUMN provider_state.provider IS 'sendgrid, smtp, twilio, vonage, fcm or webpush.';

-- +goose Down
-- The words stay: the version before ignores such tokens.
SELECT 1;
