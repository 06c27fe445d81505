-- Approval: an event that would tell many people waits for a person.
-- +goose Up
CREATE TABLE event_type_approval (
    event_type text PRIMARY KEY,
    over       integer NOT NULL CONSTRAINT event_type_approval_over CHECK (over >= 0)
);
COMMENT ON TABLE event_type_approval IS 'Event types that need approval if they would tell many people.';
COMMENT ON COLUMN event_type_approval.event_type IS 'The event type.';
COMMENT ON COLUMN event_type_approval.over IS 'An event that would tell more people than this waits for `starter event approve`. 0: every event waits.';

CREATE TABLE event_approval (
    event_id    text PRIMARY KEY CONSTRAINT event_approval_event REFERENCES processed_event ON DELETE CASCADE,
    asked_at    timestamptz NOT NULL DEFAULT now(),
    answer      text CONSTRAINT event_approval_answer CHECK (answer IN ('APPROVED', 'REJECTED')),
    answered_by text,
    reason      text,
    answered_at timestamptz,
    CONSTRAINT event_approval_answered CHECK ((answer IS NULL) = (answered_by IS NULL) AND (answer IS NULL) = (answered_at IS NULL))
);
COMMENT ON TABLE event_approval IS 'The events that needed approval, and the first answer to each.';
COMMENT ON COLUMN event_approval.event_id IS 'The event.';
COMMENT ON COLUMN event_approval.asked_at IS 'When it began to wait. After 7 days it is rejected.';
COMMENT ON COLUMN event_approval.answer IS 'APPROVED or REJECTED. Null: it waits.';
COMMENT ON COLUMN event_approval.answered_by IS 'The HERALD_ACTOR, or a name from the Web UI. Herald: nobody answered in time.';
COMMENT ON COLUMN event_approval.reason IS 'In the words of that person. Null: none.';
COMMENT ON COLUMN event_approval.answered_at IS 'When it was answered.';

-- +goose Down
DROP TABLE event_approval;
DROP TABLE event_type_approval;
