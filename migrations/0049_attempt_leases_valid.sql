-- +goose NO TRANSACTION
-- +goose Up
-- Each reads its table once, beside its readers and writers.
ALTER TABLE notification VALIDATE CONSTRAINT notification_attempt_lease;
ALTER TABLE delivery_attempt VALIDATE CONSTRAINT delivery_attempt_outcome;

-- +goose Down
SELECT; -- the constraints go with the migration before
