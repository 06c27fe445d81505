-- +goose Up
-- A secret can be replaced while processes with the old one run. While two are known, suppressions are written under both.
ALTER TABLE herald_secret
    DROP COLUMN only_one,
    ADD PRIMARY KEY (fingerprint),
    ADD COLUMN superseded_at timestamptz,
    ADD COLUMN rekeyed_at    timestamptz;

-- A process of the release before inserts its secret ON CONFLICT DO NOTHING: this index keeps a second one out.
CREATE UNIQUE INDEX herald_secret_one_current ON herald_secret ((true)) WHERE superseded_at IS NULL;

COMMENT ON TABLE herald_secret IS 'The secrets by which this database knows addresses. A process compares its HERALD_SECRET with them, and does not start with another one. One row, and during a rotation a second one, for HERALD_SECRET_PREVIOUS: `starter secret rekey` ends it.';
COMMENT ON COLUMN herald_secret.fingerprint IS 'A hash of the secret, from which nobody can find the secret.';
COMMENT ON COLUMN herald_secret.since IS 'When the secret was first used.';
COMMENT ON COLUMN herald_secret.superseded_at IS 'When a process first came with a newer secret, and with this one as HERALD_SECRET_PREVIOUS. Null: this is the present HERALD_SECRET.';
COMMENT ON COLUMN herald_secret.rekeyed_at IS 'When `starter secret rekey` began to move suppressions to the newer secret. From then on a process that knows this secret alone does not start. Null: not yet.';

ALTER TABLE recipient_suppression
    ADD COLUMN secret text REFERENCES herald_secret,
    ADD COLUMN twin   boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN recipient_suppression.address_hash IS 'HMAC-SHA256 of the address with a key from the secret: no column holds the address.';
COMMENT ON COLUMN recipient_suppression.secret IS 'herald_secret.fingerprint of the secret behind address_hash, which stays known as long as a suppression needs it. Null: release 0.2 wrote the row, with the secret of that time.';
COMMENT ON COLUMN recipient_suppression.twin IS 'true: the suppression stands under the newer secret too. This row is for processes that know the previous secret alone; `starter secret rekey` deletes it.';

-- +goose Down
DELETE FROM recipient_suppression WHERE twin;
ALTER TABLE recipient_suppression
    DROP COLUMN twin,
    DROP COLUMN secret;
DELETE FROM herald_secret WHERE superseded_at IS NOT NULL;
DROP INDEX herald_secret_one_current;
ALTER TABLE herald_secret
    DROP COLUMN rekeyed_at,
    DROP COLUMN superseded_at,
    DROP CONSTRAINT herald_secret_pkey,
    ADD COLUMN only_one boolean PRIMARY KEY DEFAULT true,
    ADD CONSTRAINT herald_secret_only_one CHECK (only_one);
COMMENT ON COLUMN herald_secret.only_one IS 'Always true: there is one row.';
