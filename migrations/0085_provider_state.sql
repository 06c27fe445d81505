-- The state of the providers, which all processes share. It has one row for each provider that has
-- rested, or that an operator has paused or chosen.
-- +goose Up
CREATE TABLE provider_state (
    provider        text PRIMARY KEY CHECK (provider ~ '^[a-z]{1,20}$'),
    rests           integer NOT NULL DEFAULT 0 CHECK (rests >= 0),
    rests_until     timestamptz,
    failure         text CHECK (length(failure) <= 500),
    override        text CHECK (override IN ('PAUSED', 'USED')),
    override_by     text,
    override_reason text,
    changed_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT provider_state_rests CHECK ((rests > 0) = (rests_until IS NOT NULL)),
    CONSTRAINT provider_state_override CHECK ((override IS NULL) = (override_by IS NULL))
);
COMMENT ON TABLE provider_state IS 'Providers that have rested, or that an operator has paused or chosen. All processes read it every two seconds.';
COMMENT ON COLUMN provider_state.provider IS 'sendgrid, smtp, twilio, vonage, fcm';
COMMENT ON COLUMN provider_state.rests IS 'Rests in a row. 0: it works.';
COMMENT ON COLUMN provider_state.rests_until IS 'Then one process sends one message as a probe. Null: it works.';
COMMENT ON COLUMN provider_state.failure IS 'The failure before the last rest.';
COMMENT ON COLUMN provider_state.override IS 'The operator''s order. PAUSED: it gets no messages. USED: it is asked first, even if it fails. Null: none.';
COMMENT ON COLUMN provider_state.override_by IS 'The operator.';
COMMENT ON COLUMN provider_state.override_reason IS 'The operator''s reason.';
COMMENT ON COLUMN provider_state.changed_at IS 'When the row was last changed.';

-- +goose Down
DROP TABLE provider_state;
