-- +goose Up
-- A column that is null is added without touching the rows.
ALTER TABLE processed_event
    ADD COLUMN problem text;

COMMENT ON COLUMN processed_event.problem IS 'Which rows of the rules named nobody, and why. It holds paths and types, and nothing of the payload. Null: none, or the event ended before there was this column.';
COMMENT ON COLUMN processed_event.outcome IS 'How an event ended that did not simply reach people: NO_RECIPIENTS and NO_ROUTING told nobody, PROBLEM told some and has a problem, INCOMPLETE left deliveries PENDING to the sweep, CANCELLED and FAILED ended early. Null: it reached people, or has not ended.';

-- +goose Down
COMMENT ON COLUMN processed_event.outcome IS NULL;
ALTER TABLE processed_event
    DROP COLUMN problem;
