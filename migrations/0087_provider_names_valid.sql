-- +goose NO TRANSACTION
-- +goose Up
-- It reads the table once, beside its readers and writers.
ALTER TABLE delivery_receipt VALIDATE CONSTRAINT delivery_receipt_provider;

-- +goose Down
SELECT 1; -- the constraint goes with the migration before
