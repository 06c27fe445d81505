-- +goose Up
-- A column that is null for all rows is added without touching them.
ALTER TABLE event_outbox
    ADD COLUMN row_failed_at timestamptz;

COMMENT ON COLUMN event_outbox.row_failed_at IS 'When the event''s row in its own table was marked as failed, since the event was cancelled or given up. A row that is pending after that was set back by its service. Null: it was not marked for that.';

-- +goose Down
ALTER TABLE event_outbox
    DROP COLUMN row_failed_at;
