-- +goose Up
-- The memory of the walk: rows of outboxes that were refused, or could not be marked. All other rows are known by their own table alone.
CREATE TABLE source_row (
    source          text        NOT NULL,
    row_key         text        NOT NULL, -- the primary key in the row's own table
    event_id        text        NOT NULL,
    key_hash        bigint,               -- of the record's key; null: the record has none
    refusals        int         NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,          -- null: at once
    error           text,
    people_error    text,
    sent_at         timestamptz,
    failed_at       timestamptz,
    marked_at       timestamptz,

    CONSTRAINT source_row_pkey PRIMARY KEY (source, row_key),
    CONSTRAINT source_row_refusals CHECK (refusals >= 0),
    CONSTRAINT source_row_one_end CHECK (sent_at IS NULL OR failed_at IS NULL),
    CONSTRAINT source_row_failed_says_why CHECK (failed_at IS NULL OR error IS NOT NULL)
);

-- A row that waits for its topic holds back the later rows of its key.
CREATE INDEX source_row_held ON source_row (source, key_hash) WHERE refusals > 0 AND sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX source_row_failed ON source_row (source, failed_at) WHERE failed_at IS NOT NULL;

COMMENT ON TABLE source_row IS 'Rows of outboxes that their topic refused, that cannot tell people, or that cannot be marked in their own table.';
COMMENT ON COLUMN source_row.source IS 'The outbox of the row.';
COMMENT ON COLUMN source_row.row_key IS 'The primary key of the row in its own table, as text.';
COMMENT ON COLUMN source_row.event_id IS 'The id of the row''s event, as in the header event_id of its record.';
COMMENT ON COLUMN source_row.key_hash IS 'A hash of the record''s key. While the record waits, later rows with the same hash wait. Null: the record has no key.';
COMMENT ON COLUMN source_row.refusals IS 'How often the topic refused the record, since the row was last begun.';
COMMENT ON COLUMN source_row.next_attempt_at IS 'When the record is produced again, or the row is marked again.';
COMMENT ON COLUMN source_row.error IS 'What the topic, or the row''s own table, said last.';
COMMENT ON COLUMN source_row.people_error IS 'Why the row tells no people. Its topic gets it all the same.';
COMMENT ON COLUMN source_row.sent_at IS 'When the row was sent. The row is here because it could not be marked in its own table, or tells no people.';
COMMENT ON COLUMN source_row.failed_at IS 'When the row was given up. `starter source retry` begins it again.';
COMMENT ON COLUMN source_row.marked_at IS 'When the row was marked in its own table. A failed row that is pending there after that was set back by its service.';

-- Topics that do not exist, that Herald may not write, or that have no leader. Their rows wait, and count nothing.
CREATE TABLE source_topic (
    source          text        NOT NULL,
    topic           text        NOT NULL,
    resting_since   timestamptz NOT NULL DEFAULT now(),
    next_attempt_at timestamptz NOT NULL,
    error           text        NOT NULL,

    CONSTRAINT source_topic_pkey PRIMARY KEY (source, topic)
);

COMMENT ON TABLE source_topic IS 'Topics that rest: they do not exist, Herald may not write them, or they have no leader.';

COMMENT ON COLUMN source_topic.source IS 'The outbox whose rows go to the topic.';
COMMENT ON COLUMN source_topic.topic IS 'The topic.';
COMMENT ON COLUMN source_topic.resting_since IS 'When the topic first took no record.';
COMMENT ON COLUMN source_topic.next_attempt_at IS 'When the topic is asked again.';
COMMENT ON COLUMN source_topic.error IS 'What the broker said last.';

-- Where the walk through Herald's own outbox begins. Events from before it was given a topic are not sent.
CREATE TABLE source_start (
    source text   NOT NULL,
    seq    bigint NOT NULL,

    CONSTRAINT source_start_pkey PRIMARY KEY (source)
);

COMMENT ON TABLE source_start IS 'The last event of event_outbox from before Herald''s own outbox was given a topic.';

COMMENT ON COLUMN source_start.source IS 'herald.';
COMMENT ON COLUMN source_start.seq IS 'event_outbox.seq of that event.';

-- Where a poller's walk has come to, for the poller that owns the same slots next.
CREATE TABLE source_position (
    source   text  NOT NULL,
    slots    int[] NOT NULL,
    owner    text  NOT NULL,
    position jsonb,          -- null: the owner has not ended

    CONSTRAINT source_position_pkey PRIMARY KEY (source, slots)
);

COMMENT ON TABLE source_position IS 'How far the pollers of outboxes have come. A poller continues where the owner of its slots before it ended.';

COMMENT ON COLUMN source_position.source IS 'The outbox.';
COMMENT ON COLUMN source_position.slots IS 'The parts of the outbox''s keys that the poller owns.';
COMMENT ON COLUMN source_position.owner IS 'The poller that owns the slots, or did last.';
COMMENT ON COLUMN source_position.position IS 'The cursors of the poller''s walk, when it ended. Null: the poller runs or has died, and the next walk begins at the first row.';

ALTER TABLE event_outbox
    ADD COLUMN produced_at timestamptz;

COMMENT ON COLUMN event_outbox.produced_at IS 'When the topic of Herald''s own outbox acknowledged the event. Null: not yet, or the outbox has no topic.';

-- +goose Down
ALTER TABLE event_outbox DROP COLUMN produced_at;
DROP TABLE source_position;
DROP TABLE source_start;
DROP TABLE source_topic;
DROP TABLE source_row;
