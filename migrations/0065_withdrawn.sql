-- +goose Up
-- The column has no default, so that the table is not written. An index holds the rows that the update reads.
ALTER TABLE event_outbox ADD COLUMN withdrawn_at timestamptz;
COMMENT ON COLUMN event_outbox.withdrawn_at IS 'When an operator cancelled the event before a poller started it; it is FAILED then. Null: nobody did, or it was retried.';
UPDATE event_outbox SET withdrawn_at = now() WHERE status = 'FAILED' AND error_message = 'cancelled by an operator';

-- +goose Down
ALTER TABLE event_outbox DROP COLUMN withdrawn_at;
