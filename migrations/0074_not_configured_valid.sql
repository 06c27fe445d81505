-- +goose NO TRANSACTION
-- +goose Up
-- It reads the table once, beside its readers and writers.
ALTER TABLE delivery_attempt VALIDATE CONSTRAINT delivery_attempt_outcome;

-- +goose Down
SELECT; -- the constraint goes with the migration before
