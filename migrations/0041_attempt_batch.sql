-- +goose Up
-- The column has no default, so that the table is not written.
ALTER TABLE delivery_attempt ADD COLUMN batch integer;

COMMENT ON COLUMN delivery_attempt.batch IS 'The number n of the workflow DeliverBatch that made it, <event_id>-batch-<channel>-n; null: the workflow of the delivery or of its digest did.';

-- +goose Down
ALTER TABLE delivery_attempt DROP COLUMN batch;
