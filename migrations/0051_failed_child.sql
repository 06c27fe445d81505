-- +goose Up
-- A delivery that failed for good in a batch has a failed workflow: the first 1,000 of an event have.
ALTER TABLE notification ADD COLUMN failed_child boolean;
COMMENT ON COLUMN notification.failed_child IS 'true: it failed for good in a batch, and the batch starts a failed workflow for it, so that operators find it in Temporal. false: the event has 1,000 of these already. Null: it did not fail in a batch.';

-- +goose Down
ALTER TABLE notification DROP COLUMN failed_child;
