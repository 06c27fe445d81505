-- +goose Up
ALTER TABLE delivery_attempt
    DROP CONSTRAINT delivery_attempt_outcome,
    ADD CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'UNREACHABLE', 'UNAVAILABLE', 'ACCOUNT', 'AMBIGUOUS', 'ERROR', 'NOT_CONFIGURED', 'LOST'));
COMMENT ON COLUMN delivery_attempt.outcome IS 'SENT: accepted. REFUSED: never accepted. BUSY: not accepted, the provider wants it later. UNREACHABLE: there was no connection. UNAVAILABLE: not accepted, the provider was out of order. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. NOT_CONFIGURED: the worker has no settings for the channel. ERROR: the provider was not called for another reason. LOST: the process died in it, and the next attempt may repeat the message.';
