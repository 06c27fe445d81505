-- +goose Up
-- A constant default writes no rows.
ALTER TABLE sweep ADD COLUMN after_waiting_event text NOT NULL DEFAULT '';
COMMENT ON COLUMN sweep.after_waiting_event IS 'The event at which the next sweep goes on among events that wait by design; empty: from the beginning.';

-- +goose Down
ALTER TABLE sweep DROP COLUMN after_waiting_event;
