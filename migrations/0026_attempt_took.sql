-- +goose Up
-- From started_at to ended_at an attempt also reads the database, and for PUSH waits for an access token. The column has no default, so
-- that the table is not written.
ALTER TABLE delivery_attempt ADD COLUMN took interval;

COMMENT ON COLUMN delivery_attempt.took IS 'How long the provider took to answer, or until the call was given up; of several devices, the slowest. Null: it was not called, or the attempt is of release 0.1.';

-- +goose Down
ALTER TABLE delivery_attempt DROP COLUMN took;
