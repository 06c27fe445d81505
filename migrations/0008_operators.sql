-- What operators did, and what they want to run.
-- +goose Up
CREATE TABLE operator_action (
    id      bigint GENERATED ALWAYS AS IDENTITY,
    at      timestamptz DEFAULT now() NOT NULL,
    actor   text NOT NULL,
    command text NOT NULL,
    target  text NOT NULL,
    detail  text DEFAULT '' NOT NULL,
    db_user text DEFAULT SESSION_USER,
    form    text,
    CONSTRAINT operator_action_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE operator_action IS 'What operators changed through starter. Temporal''s histories hold the changes of its Web UI.';
COMMENT ON COLUMN operator_action.id IS 'Of the row.';
COMMENT ON COLUMN operator_action.at IS 'When it was ordered, before it was done.';
COMMENT ON COLUMN operator_action.actor IS 'HERALD_ACTOR, else user@host: the name that the actor gives. db_user is the name that the database knows.';
COMMENT ON COLUMN operator_action.command IS 'event retry, delivery cancel, purge.';
COMMENT ON COLUMN operator_action.target IS 'An event id, a delivery id, a poller''s workflow ID or a table; for many: the filter.';
COMMENT ON COLUMN operator_action.detail IS 'The flags, and how many were changed. It holds no address and no text.';
COMMENT ON COLUMN operator_action.db_user IS 'The role that was logged in to the database.';
COMMENT ON COLUMN operator_action.form IS 'The id of the console''s form, which works once. Null: the order came from starter.';

CREATE INDEX operator_action_at ON operator_action (at);
CREATE UNIQUE INDEX operator_action_form ON operator_action (form) WHERE form IS NOT NULL;
CREATE INDEX operator_action_target ON operator_action (target, id);

CREATE TABLE poller (
    source       text,
    number       integer,
    paused_since timestamptz,
    CONSTRAINT poller_pkey PRIMARY KEY (source, number),
    CONSTRAINT poller_number CHECK (number > 0)
);

COMMENT ON TABLE poller IS 'The outbox pollers that operators want to run. `starter poller start` adds them, `starter poller stop` deletes them. If Temporal has lost them, `starter restore` starts them again.';
COMMENT ON COLUMN poller.source IS 'The outbox that it polls: herald, or a name in OUTBOX_SOURCES.';
COMMENT ON COLUMN poller.number IS 'Which of the pollers of that outbox, from 1.';
COMMENT ON COLUMN poller.paused_since IS 'When an operator paused it. Null: it polls.';

-- +goose Down
DROP TABLE poller;
DROP TABLE operator_action;
