-- +goose Up
-- The columns have no default and the constraints are not checked for rows that are there, so nothing is rewritten or read.
ALTER TABLE notification
    ADD COLUMN attempt_owner text,
    ADD COLUMN attempt_until timestamptz,
    ADD COLUMN attempt_began timestamptz,
    ADD COLUMN next_attempt_at timestamptz,
    ADD COLUMN failed_child boolean,
    ADD CONSTRAINT notification_attempt_lease CHECK (num_nulls(attempt_owner, attempt_until, attempt_began) IN (0, 3)) NOT VALID;

-- An attempt is written once, when it has ended: pages need no room for a second version.
-- Workers of release 0.2 go on writing theirs at the beginning; delivery_attempt.batch is theirs, too.
ALTER TABLE delivery_attempt
    RESET (fillfactor),
    DROP CONSTRAINT delivery_attempt_outcome,
    ADD CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'ACCOUNT', 'AMBIGUOUS', 'ERROR', 'LOST')) NOT VALID;

COMMENT ON COLUMN notification.attempt_count IS 'Attempts that were begun, the one under way included; those of its digest count.';
COMMENT ON COLUMN notification.attempt_owner IS 'Who makes the attempt that is under way: the id of a workflow, and a random word. Null: nobody does.';
COMMENT ON COLUMN notification.attempt_until IS 'Until then nobody else may begin an attempt. In the past: the process died; who begins the next attempt writes this one down as LOST.';
COMMENT ON COLUMN notification.attempt_began IS 'When the attempt that is under way began.';
COMMENT ON COLUMN notification.next_attempt_at IS 'When its next attempt is due, if it has left its batch: after one that failed for now, or at the end of quiet hours. Null: at once, or at send_after.';
COMMENT ON COLUMN notification.failed_child IS 'true: it failed for good in a batch, and the batch starts a failed workflow for it, so that operators find it in Temporal. false: the event has 1,000 of these already. Null: it did not fail in a batch.';
COMMENT ON TABLE delivery_attempt IS 'One attempt to hand a delivery to its provider, written when it has ended. The one that is under way is in notification.';
COMMENT ON COLUMN delivery_attempt.ended_at IS 'When its result was recorded; of a LOST one, when that was noticed. Null: release 0.2 began it and never ended it, which counts as LOST.';
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: for ever. BUSY: the provider wants it later. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. ERROR: the provider was not called. LOST: the process died in it, and the next attempt may repeat the message. Null: see ended_at.';
COMMENT ON COLUMN delivery_attempt.batch IS 'Release 0.2 wrote the number of the batch that made the attempt. Not written any more.';

-- The views of one user type have the columns of notification, and their comments.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.relname, a.attname, col_description(a.attrelid, a.attnum) AS text
        FROM   pg_class v
        JOIN   pg_attribute a ON a.attrelid = 'notification'::regclass
                             AND a.attname IN ('attempt_count', 'attempt_owner', 'attempt_until', 'attempt_began', 'next_attempt_at', 'failed_child')
        WHERE  v.oid IN ('restaurant_notification'::regclass, 'customer_notification'::regclass, 'agency_notification'::regclass,
                         'admin_notification'::regclass, 'guest_notification'::regclass)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', said.relname, said.attname, said.text);
    END LOOP;
END;
$$;
-- +goose StatementEnd

-- +goose Down
COMMENT ON COLUMN delivery_attempt.batch IS 'The number n of the workflow DeliverBatch that made it, <event_id>-batch-<channel>-n; null: the workflow of the delivery or of its digest did.';
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: for ever. BUSY: the provider wants it later. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. ERROR: the provider was not called. Null: it has not ended.';
COMMENT ON COLUMN delivery_attempt.ended_at IS 'When its result was recorded; null: it has not ended.';
COMMENT ON TABLE delivery_attempt IS 'One attempt to hand a delivery to its provider. One that was begun and never ended died with its process, and the next may repeat the message.';
COMMENT ON COLUMN notification.attempt_count IS 'Attempts that were begun; those of its digest count.';
-- Release 0.2 knows a lost attempt as one that never ended.
INSERT INTO delivery_attempt (delivery_id, attempt, started_at)
SELECT delivery_id, attempt_count, attempt_began
FROM   notification
WHERE  attempt_owner IS NOT NULL
ON CONFLICT DO NOTHING;
UPDATE delivery_attempt SET ended_at = NULL, outcome = NULL WHERE outcome = 'LOST';
ALTER TABLE delivery_attempt
    SET (fillfactor = 80),
    DROP CONSTRAINT delivery_attempt_outcome,
    ADD CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'ACCOUNT', 'AMBIGUOUS', 'ERROR')) NOT VALID;
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification
    DROP CONSTRAINT notification_attempt_lease,
    DROP COLUMN failed_child,
    DROP COLUMN next_attempt_at,
    DROP COLUMN attempt_began,
    DROP COLUMN attempt_until,
    DROP COLUMN attempt_owner;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
