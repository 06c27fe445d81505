-- +goose NO TRANSACTION
-- +goose Up
-- It reads the table once, beside its readers and writers.
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_traceparent;

-- +goose Down
SELECT 1; -- the column goes with the migration before
