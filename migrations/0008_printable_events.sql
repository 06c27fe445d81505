-- +goose NO TRANSACTION
-- +goose Up
-- Events from before the constraints, which would refuse each change of them.
UPDATE event_outbox
SET    event_type     = regexp_replace(event_type, '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]', '?', 'g'),
       aggregate_type = regexp_replace(aggregate_type, '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]', '?', 'g'),
       aggregate_id   = regexp_replace(aggregate_id, '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]', '?', 'g'),
       correlation_id = regexp_replace(correlation_id, '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]', '?', 'g')
WHERE  event_type ~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'
OR     aggregate_type ~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'
OR     aggregate_id ~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'
OR     correlation_id ~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]';

-- Each reads the table once, beside its readers and writers.
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_event_type_printable;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_aggregate_type_printable;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_aggregate_id_printable;
ALTER TABLE event_outbox VALIDATE CONSTRAINT event_outbox_correlation_id_printable;

-- +goose Down
SELECT 1; -- the constraints go with the migration before
