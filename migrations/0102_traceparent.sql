-- The producer's trace of an event. The column has no default, so the table is not written. The next migration validates the constraint, without
-- a lock that stops producers.
-- +goose Up
ALTER TABLE event_outbox
    ADD COLUMN traceparent text,
    ADD CONSTRAINT event_outbox_traceparent CHECK (octet_length(traceparent) <= 100 AND traceparent !~ '[[:cntrl:]]') NOT VALID;
COMMENT ON COLUMN event_outbox.traceparent IS 'The producer''s span, as in the header traceparent of W3C: Herald''s spans continue its trace. An invalid one is ignored. Null: none.';

-- +goose Down
ALTER TABLE event_outbox DROP COLUMN traceparent;
