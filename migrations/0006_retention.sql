-- +goose Up
-- The oldest rows, for `starter purge`; event_outbox and notification have theirs already. A time that never changes keeps
-- the later updates of a row on its own page.
CREATE INDEX processed_event_created_at ON processed_event (created_at);
CREATE INDEX notification_decision_decided_at ON notification_decision (decided_at);

-- +goose Down
DROP INDEX notification_decision_decided_at;
DROP INDEX processed_event_created_at;
