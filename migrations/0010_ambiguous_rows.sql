-- Rows that lost their end with Postgres' last commits. The table has a hundred rows.
-- +goose Up
ALTER TABLE sweep ADD COLUMN ambiguous integer DEFAULT 0 NOT NULL;

COMMENT ON COLUMN sweep.ambiguous IS 'Open events and deliveries whose workflow completed: Postgres lost their end, and their message may have been sent.';

-- +goose Down
ALTER TABLE sweep DROP COLUMN ambiguous;
