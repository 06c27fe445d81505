-- +goose Up
-- The column has no default, so that the table is not written.
ALTER TABLE delivery_attempt ADD COLUMN batch integer;

COMMENT ON COLUMN delivery_attempt.batch IS 'The number n of the workflow DeliverBatch that made it, <event_id>-batch-<channel>-n; null: the workflow of the delivery or of its digest did.';
COMMENT ON TABLE delivery_follow_up IS 'What is still to be done about deliveries whose status a receipt, an acknowledgement, a reader or the end of an attempt in a batch has changed. A worker does it, and deletes the row.';

-- +goose Down
COMMENT ON TABLE delivery_follow_up IS 'What is still to be done about deliveries whose status a receipt, an acknowledgement or a reader has changed. A worker does it, and deletes the row.';
ALTER TABLE delivery_attempt DROP COLUMN batch;
