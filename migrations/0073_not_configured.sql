-- +goose Up
-- The constraint is not checked for rows that are there, so nothing is read.
ALTER TABLE delivery_attempt
    DROP CONSTRAINT delivery_attempt_outcome,
    ADD CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'ACCOUNT', 'AMBIGUOUS', 'ERROR', 'NOT_CONFIGURED', 'LOST')) NOT VALID;

COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: for ever. BUSY: the provider wants it later. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. NOT_CONFIGURED: the worker has no settings for the channel. ERROR: the provider was not called for another reason. LOST: the process died in it, and the next attempt may repeat the message. Null: see ended_at.';

-- +goose Down
UPDATE delivery_attempt SET outcome = 'ERROR' WHERE outcome = 'NOT_CONFIGURED';
ALTER TABLE delivery_attempt
    DROP CONSTRAINT delivery_attempt_outcome,
    ADD CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'ACCOUNT', 'AMBIGUOUS', 'ERROR', 'LOST')) NOT VALID;
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: for ever. BUSY: the provider wants it later. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. ERROR: the provider was not called. LOST: the process died in it, and the next attempt may repeat the message. Null: see ended_at.';
