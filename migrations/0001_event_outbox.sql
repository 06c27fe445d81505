-- +goose Up
CREATE TABLE event_outbox (
    event_id       text        PRIMARY KEY,
    seq            bigint      GENERATED ALWAYS AS IDENTITY, -- order of arrival; not of commit
    event_type     text        NOT NULL,
    aggregate_type text        NOT NULL,
    aggregate_id   text        NOT NULL,
    payload        jsonb       NOT NULL,
    correlation_id text,
    status         text        NOT NULL DEFAULT 'PENDING',
    created_at     timestamptz NOT NULL DEFAULT now(),
    published_at   timestamptz,
    attempt_count  int         NOT NULL DEFAULT 0, -- claims; rises at the claim, so that a row that kills its reader is noticed
    error_message  text,
    lease_owner    text,                           -- one claim of one poller
    lease_until    timestamptz,

    CONSTRAINT event_outbox_status CHECK (status IN ('PENDING', 'PROCESSED', 'FAILED')),
    CONSTRAINT event_outbox_published_once_processed CHECK ((status = 'PROCESSED') = (published_at IS NOT NULL)),
    CONSTRAINT event_outbox_failed_says_why CHECK (status <> 'FAILED' OR error_message IS NOT NULL),
    CONSTRAINT event_outbox_leased_while_pending CHECK (status = 'PENDING' OR lease_owner IS NULL),
    CONSTRAINT event_outbox_lease_has_end CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CONSTRAINT event_outbox_attempt_count CHECK (attempt_count >= 0),
    -- A delivery's workflow ID is the event id, the recipient and the channel; Temporal keeps 255 bytes of it on Postgres.
    CONSTRAINT event_outbox_event_id_length CHECK (octet_length(event_id) BETWEEN 1 AND 150),
    CONSTRAINT event_outbox_event_id_printable CHECK (event_id !~ '[[:cntrl:]]'),
    -- Type and aggregate become search attributes, of which Temporal keeps 255 bytes on Postgres.
    CONSTRAINT event_outbox_event_type_length CHECK (octet_length(event_type) BETWEEN 1 AND 100),
    CONSTRAINT event_outbox_aggregate_type_length CHECK (octet_length(aggregate_type) BETWEEN 1 AND 100),
    CONSTRAINT event_outbox_aggregate_id_length CHECK (octet_length(aggregate_id) BETWEEN 1 AND 100),
    -- An AMQP short string.
    CONSTRAINT event_outbox_correlation_id_length CHECK (octet_length(correlation_id) <= 255),
    CONSTRAINT event_outbox_payload_object CHECK (jsonb_typeof(payload) = 'object'),
    CONSTRAINT event_outbox_payload_size CHECK (octet_length(payload::text) <= 262144)
) WITH (
    fillfactor = 80, -- leaves room for the lease to be written on the row's own page
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000
);

-- The poller reads nothing else; processed rows cost it nothing.
CREATE INDEX event_outbox_pending ON event_outbox (seq) WHERE status = 'PENDING';
CREATE INDEX event_outbox_failed ON event_outbox (seq) WHERE status = 'FAILED';

-- +goose StatementBegin
CREATE FUNCTION notify_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('event_outbox', '');
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- Only a hint that saves the poller's next wait. NOTIFY serialises commits, hence once a statement and not once a row;
-- where even that is too much, the trigger can be dropped.
CREATE TRIGGER event_outbox_notify
    AFTER INSERT ON event_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION notify_event_outbox();

-- The long-term memory against duplicates; Temporal forgets a closed workflow ID when its retention ends.
CREATE TABLE processed_event (
    event_id   text        PRIMARY KEY,
    status     text        NOT NULL DEFAULT 'PROCESSING',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),

    CONSTRAINT processed_event_status CHECK (status IN ('PROCESSING', 'SUCCESS', 'FAILED'))
);

-- +goose Down
DROP TABLE processed_event;
DROP TABLE event_outbox;
DROP FUNCTION notify_event_outbox();
