-- The events, their ends, and who approves them.
-- +goose Up
CREATE TABLE event_outbox (
    event_id        text,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    event_type      text NOT NULL,
    aggregate_type  text,
    aggregate_id    text,
    payload         jsonb,
    correlation_id  text,
    status          text DEFAULT 'PENDING' NOT NULL,
    created_at      timestamptz DEFAULT now() NOT NULL,
    published_at    timestamptz,
    attempt_count   integer DEFAULT 0 NOT NULL,
    error_message   text,
    lease_owner     text,
    lease_until     timestamptz,
    cancels         text,
    cancels_types   text[],
    source          text DEFAULT 'herald' NOT NULL,
    acknowledged_at timestamptz,
    produced_at     timestamptz,
    withdrawn_at    timestamptz,
    expires_at      timestamptz,
    collapse_key    text,
    traceparent     text,
    CONSTRAINT event_outbox_pkey PRIMARY KEY (event_id),
    CONSTRAINT event_outbox_aggregate_id_given CHECK (source <> 'herald' OR aggregate_id IS NOT NULL),
    CONSTRAINT event_outbox_aggregate_id_length
        CHECK (octet_length(aggregate_id) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END),
    CONSTRAINT event_outbox_aggregate_id_printable CHECK (aggregate_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'),
    CONSTRAINT event_outbox_aggregate_type_given CHECK (source <> 'herald' OR aggregate_type IS NOT NULL),
    CONSTRAINT event_outbox_aggregate_type_length
        CHECK (octet_length(aggregate_type) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END),
    CONSTRAINT event_outbox_aggregate_type_printable CHECK (aggregate_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'),
    CONSTRAINT event_outbox_attempt_count CHECK (attempt_count >= 0),
    CONSTRAINT event_outbox_cancels_another CHECK (cancels <> event_id),
    CONSTRAINT event_outbox_cancels_length CHECK (octet_length(cancels) BETWEEN 1 AND 150),
    CONSTRAINT event_outbox_cancels_printable CHECK (cancels !~ '[[:cntrl:]]'),
    CONSTRAINT event_outbox_cancels_types CHECK (cancels_types IS NULL OR cancels IS NOT NULL),
    CONSTRAINT event_outbox_collapse_key CHECK (octet_length(collapse_key) BETWEEN 1 AND 150 AND collapse_key !~ '[[:cntrl:]]'),
    CONSTRAINT event_outbox_correlation_id_length CHECK (octet_length(correlation_id) <= 255),
    CONSTRAINT event_outbox_correlation_id_printable CHECK (correlation_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'),
    CONSTRAINT event_outbox_created_at CHECK (created_at >= timestamptz '1970-01-01 00:00Z' AND created_at < timestamptz '10000-01-01 00:00Z'),
    CONSTRAINT event_outbox_expires_at CHECK (expires_at < timestamptz '10000-01-01 00:00Z'),
    CONSTRAINT event_outbox_event_id_length CHECK (octet_length(event_id) BETWEEN 1 AND 150),
    CONSTRAINT event_outbox_event_id_printable CHECK (event_id !~ '[[:cntrl:]]'),
    CONSTRAINT event_outbox_event_type_length
        CHECK (octet_length(event_type) BETWEEN 1 AND CASE source WHEN 'herald' THEN 100 ELSE 255 END),
    CONSTRAINT event_outbox_event_type_printable CHECK (event_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'),
    CONSTRAINT event_outbox_failed_says_why CHECK (status <> 'FAILED' OR error_message IS NOT NULL),
    CONSTRAINT event_outbox_lease_has_end CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CONSTRAINT event_outbox_leased_while_pending CHECK (status = 'PENDING' OR lease_owner IS NULL),
    CONSTRAINT event_outbox_payload_given CHECK (source <> 'herald' OR payload IS NOT NULL),
    CONSTRAINT event_outbox_payload_object CHECK (jsonb_typeof(payload) = 'object'),
    CONSTRAINT event_outbox_payload_size CHECK (octet_length(payload::text) <= 262144),
    CONSTRAINT event_outbox_published_once_processed CHECK ((status = 'PROCESSED') = (published_at IS NOT NULL)),
    CONSTRAINT event_outbox_source CHECK (source ~ '^[a-z0-9-]{1,30}$'),
    CONSTRAINT event_outbox_status CHECK (status IN ('PENDING', 'PROCESSED', 'FAILED')),
    CONSTRAINT event_outbox_traceparent CHECK (octet_length(traceparent) <= 100 AND traceparent !~ '[[:cntrl:]]')
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

COMMENT ON TABLE event_outbox IS 'The events. A producer inserts a row in its transaction. After the commit, a poller starts one workflow for it, in the order of seq. The table refuses a row that cannot become a workflow or is unsafe to show.';
COMMENT ON COLUMN event_outbox.event_id IS 'The producer''s id, and the workflow ID: 1 to 150 bytes, printable. If another workflow has the id, the row becomes FAILED.';
COMMENT ON COLUMN event_outbox.seq IS 'Order of arrival. Pollers claim events in this order, which is not the order of commits.';
COMMENT ON COLUMN event_outbox.event_type IS 'The kind of event: RESERVATION_REQUESTED. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_type IS 'The subject of the event. Without rows in event_type_recipients, RESTAURANT, AGENCY, CUSTOMER, ADMIN and BROADCAST name the recipients. 1 to 100 bytes, printable.';
COMMENT ON COLUMN event_outbox.aggregate_id IS 'Id of the aggregate; an integer inserts as well. Any word for ADMIN and BROADCAST. 1 to 100 bytes, printable; over 64 it finds no recipients.';
COMMENT ON COLUMN event_outbox.payload IS 'A JSON object of up to 256 KiB: the data of templates and messages.';
COMMENT ON COLUMN event_outbox.correlation_id IS 'Goes into messages, dead letters and histories; starter filters by it. Up to 255 bytes; null: none.';
COMMENT ON COLUMN event_outbox.status IS 'PENDING: waits for a poller. PROCESSED: its workflow was started. FAILED: it cannot be started, see error_message; `starter event retry` makes it PENDING again.';
COMMENT ON COLUMN event_outbox.created_at IS 'When the producer''s transaction began.';
COMMENT ON COLUMN event_outbox.published_at IS 'When it became PROCESSED. Null: not yet.';
COMMENT ON COLUMN event_outbox.attempt_count IS 'Number of claims by pollers. After 10 claims without a start it becomes FAILED.';
COMMENT ON COLUMN event_outbox.error_message IS 'Why it is FAILED, or why the last claim started nothing. Null: no error.';
COMMENT ON COLUMN event_outbox.lease_owner IS 'The claim that holds the row. Null: none.';
COMMENT ON COLUMN event_outbox.lease_until IS 'End of the claim. Later another poller may claim the row.';
COMMENT ON COLUMN event_outbox.cancels IS 'The event_id of an event to cancel: its unsent messages are cancelled, also if it comes later. Null: none.';
COMMENT ON COLUMN event_outbox.cancels_types IS 'Event types that cancels may cancel: an event of another type stays. Null: every type. POST /api/events writes the types of the producer''s token.';
COMMENT ON COLUMN event_outbox.source IS 'The outbox of the event; herald: a producer wrote it here.';
COMMENT ON COLUMN event_outbox.acknowledged_at IS 'When RabbitMQ acknowledged the event''s message. Null: not yet, or the event has no message.';
COMMENT ON COLUMN event_outbox.produced_at IS 'When the topic of Herald''s own outbox acknowledged the event. Null: not yet, or there is no topic.';
COMMENT ON COLUMN event_outbox.withdrawn_at IS 'When an operator cancelled the event before a poller started it; it is FAILED then. Null: nobody did, or it was retried.';
COMMENT ON COLUMN event_outbox.expires_at IS 'Nothing of the event is sent from this time on. Null or infinity: no limit. A time before 1970 is stored as 1970: the event has expired.';
COMMENT ON COLUMN event_outbox.collapse_key IS 'The event takes the place of older events of its type with the same key, for each recipient: at most 150 bytes. Null: it replaces none.';
COMMENT ON COLUMN event_outbox.traceparent IS 'The producer''s span, as in the header traceparent of W3C: Herald''s spans continue its trace. An invalid one is ignored. Null: none.';

CREATE INDEX event_outbox_cancels ON event_outbox (cancels) WHERE cancels IS NOT NULL;
CREATE INDEX event_outbox_claim ON event_outbox (source, seq) WHERE status = 'PENDING';
CREATE INDEX event_outbox_correlation_id ON event_outbox (correlation_id, created_at) WHERE correlation_id IS NOT NULL;
CREATE INDEX event_outbox_failed_id ON event_outbox (event_id) WHERE status = 'FAILED';
CREATE INDEX event_outbox_latest ON event_outbox (created_at, seq);

-- An expiry is finite or null: infinity is never, and what is before 1970 has expired.
-- +goose StatementBegin
CREATE FUNCTION event_outbox_expiry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.expires_at := CASE WHEN NEW.expires_at < 'infinity' THEN timestamptz '1970-01-01 00:00Z' END;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER event_outbox_expiry
    BEFORE INSERT OR UPDATE OF expires_at ON event_outbox
    FOR EACH ROW WHEN (NEW.expires_at = 'infinity' OR NEW.expires_at < timestamptz '1970-01-01 00:00Z') EXECUTE FUNCTION event_outbox_expiry();

-- Sending NOTIFY makes the commits of all producers wait for each other. It is only a hint, so only one transaction at a
-- time sends it.
-- +goose StatementBegin
CREATE FUNCTION notify_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_try_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.event_outbox')) THEN
        PERFORM pg_notify('event_outbox', '');
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER event_outbox_notify
    AFTER INSERT ON event_outbox
    FOR EACH STATEMENT
    EXECUTE FUNCTION notify_event_outbox();

CREATE TABLE processed_event (
    event_id   text,
    status     text DEFAULT 'PROCESSING' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    outcome    text,
    restarts   integer DEFAULT 0 NOT NULL,
    problem    text,
    CONSTRAINT processed_event_pkey PRIMARY KEY (event_id),
    CONSTRAINT processed_event_status CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED'))
);

COMMENT ON TABLE processed_event IS 'The started events. Temporal forgets a workflow ID after its retention; this table does not.';
COMMENT ON COLUMN processed_event.event_id IS 'event_outbox.event_id, whose row may have been purged.';
COMMENT ON COLUMN processed_event.status IS 'PROCESSING: its workflow runs. SUCCESS: all deliveries have ended, also where some have failed. FAILED: the workflow failed, was cancelled or terminated, or was lost three times.';
COMMENT ON COLUMN processed_event.created_at IS 'When its workflow was started.';
COMMENT ON COLUMN processed_event.updated_at IS 'When the status last changed.';
COMMENT ON COLUMN processed_event.outcome IS 'How an event ended that did not simply reach people: NO_RECIPIENTS and NO_ROUTING told nobody, PROBLEM told some and has a problem, INCOMPLETE left deliveries PENDING to the sweep, CANCELLED and FAILED ended early. Null: it reached people, or has not ended.';
COMMENT ON COLUMN processed_event.restarts IS 'How often the sweep has started its workflow again: 3 times at most, except after a rollback of workers.';
COMMENT ON COLUMN processed_event.problem IS 'Which rows of the rules named nobody, and why. It holds paths and types, and nothing of the payload. Null: none.';

CREATE INDEX processed_event_created_at ON processed_event (created_at);
CREATE INDEX processed_event_failed_id ON processed_event (event_id) WHERE status = 'FAILED';
CREATE INDEX processed_event_outcome_at ON processed_event (outcome, updated_at) WHERE outcome IS NOT NULL;
CREATE INDEX processed_event_outcome_id ON processed_event (outcome, event_id) WHERE outcome IS NOT NULL;
CREATE INDEX processed_event_processing ON processed_event (event_id) WHERE status = 'PROCESSING';

CREATE TABLE event_approval (
    event_id    text,
    asked_at    timestamptz DEFAULT now() NOT NULL,
    answer      text,
    answered_by text,
    reason      text,
    answered_at timestamptz,
    CONSTRAINT event_approval_pkey PRIMARY KEY (event_id),
    CONSTRAINT event_approval_event FOREIGN KEY (event_id) REFERENCES processed_event ON DELETE CASCADE,
    CONSTRAINT event_approval_answer CHECK (answer IN ('APPROVED', 'REJECTED')),
    CONSTRAINT event_approval_answered CHECK ((answer IS NULL) = (answered_by IS NULL) AND (answer IS NULL) = (answered_at IS NULL))
);

COMMENT ON TABLE event_approval IS 'The events that needed approval, and the first answer to each.';
COMMENT ON COLUMN event_approval.event_id IS 'The event.';
COMMENT ON COLUMN event_approval.asked_at IS 'When it began to wait. After 7 days it is rejected.';
COMMENT ON COLUMN event_approval.answer IS 'APPROVED or REJECTED. Null: it waits.';
COMMENT ON COLUMN event_approval.answered_by IS 'The HERALD_ACTOR, or a name from the Web UI. Herald: nobody answered in time.';
COMMENT ON COLUMN event_approval.reason IS 'In the words of that person. Null: none.';
COMMENT ON COLUMN event_approval.answered_at IS 'When it was answered.';

CREATE TABLE event_type_approval (
    event_type text,
    over       integer NOT NULL,
    CONSTRAINT event_type_approval_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_type_approval_over CHECK (over >= 0)
);

COMMENT ON TABLE event_type_approval IS 'Event types that need approval if they would tell many people.';
COMMENT ON COLUMN event_type_approval.event_type IS 'The event type.';
COMMENT ON COLUMN event_type_approval.over IS 'An event that would tell more people than this waits for `starter event approve`. 0: every event waits.';

CREATE TABLE sweep (
    id                  bigint GENERATED ALWAYS AS IDENTITY,
    at                  timestamptz DEFAULT now() NOT NULL,
    looked              integer NOT NULL,
    started_again       integer NOT NULL,
    closed              integer NOT NULL,
    failed              integer NOT NULL,
    after_event         text NOT NULL,
    after_notification  bigint NOT NULL,
    after_waiting_event text DEFAULT '' NOT NULL,
    CONSTRAINT sweep_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE sweep IS 'The results of the last sweeps.';
COMMENT ON COLUMN sweep.id IS 'Of the row.';
COMMENT ON COLUMN sweep.at IS 'When it ended.';
COMMENT ON COLUMN sweep.looked IS 'Events and deliveries whose workflow it asked for.';
COMMENT ON COLUMN sweep.started_again IS 'Workflows that were lost or never started, and that it started.';
COMMENT ON COLUMN sweep.closed IS 'Events and deliveries whose workflow an operator had terminated.';
COMMENT ON COLUMN sweep.failed IS 'Events and deliveries that it gave up, started again three times in vain.';
COMMENT ON COLUMN sweep.after_event IS 'The event at which the next sweep continues; empty: from the beginning.';
COMMENT ON COLUMN sweep.after_notification IS 'The notification.id at which the next sweep continues; 0: from the beginning.';
COMMENT ON COLUMN sweep.after_waiting_event IS 'The event at which the next sweep continues among events that wait by design; empty: from the beginning.';

-- +goose Down
DROP TABLE sweep;
DROP TABLE event_type_approval;
DROP TABLE event_approval;
DROP TABLE processed_event;
DROP TABLE event_outbox;
DROP FUNCTION event_outbox_expiry();
DROP FUNCTION notify_event_outbox();
