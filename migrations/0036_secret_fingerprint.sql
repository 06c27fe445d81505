-- +goose Up
CREATE TABLE herald_secret (
    only_one    boolean PRIMARY KEY DEFAULT true,
    fingerprint text NOT NULL,
    since       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT herald_secret_only_one CHECK (only_one)
);

COMMENT ON TABLE herald_secret IS 'By what a process knows that its HERALD_SECRET is the one that everything here was made with. One row, from when a process first had a secret. To change the secret, end all gateways, delete the row, and start them with the new one: tickets that are not used yet are void then.';
COMMENT ON COLUMN herald_secret.only_one IS 'Always true: there is one row.';
COMMENT ON COLUMN herald_secret.fingerprint IS 'A hash of the secret, from which it cannot be found.';
COMMENT ON COLUMN herald_secret.since IS 'When the secret was first used.';

-- +goose Down
DROP TABLE herald_secret;
