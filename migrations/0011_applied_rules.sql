-- What `starter rules apply` wrote, to tell changes of files from changes made by hand.
-- +goose Up
CREATE TABLE applied_rule (
    table_name text,
    key        jsonb,
    event_type text,
    content    jsonb,
    before     jsonb,
    applied_at timestamptz DEFAULT now() NOT NULL,
    actor      text NOT NULL,
    reason     text NOT NULL,
    commit_id  text,
    CONSTRAINT applied_rule_pkey PRIMARY KEY (table_name, key)
);

COMMENT ON TABLE applied_rule IS 'The rows of rules that `starter rules apply` wrote last, and why. `starter rules plan` compares them with the tables, and finds what was changed by hand.';
COMMENT ON COLUMN applied_rule.table_name IS 'The table of the row, such as event_type_channel_routing.';
COMMENT ON COLUMN applied_rule.key IS 'The columns that identify the row.';
COMMENT ON COLUMN applied_rule.event_type IS 'The event type whose file has the row. Null: installation.yaml.';
COMMENT ON COLUMN applied_rule.content IS 'The row as it was written. Null: it was deleted.';
COMMENT ON COLUMN applied_rule.before IS 'The row as it was before. Null: there was none.';
COMMENT ON COLUMN applied_rule.applied_at IS 'When it was written.';
COMMENT ON COLUMN applied_rule.actor IS 'HERALD_ACTOR, else user@host.';
COMMENT ON COLUMN applied_rule.reason IS 'Why, in their words.';
COMMENT ON COLUMN applied_rule.commit_id IS 'The commit of the folder, from git or from the operator. With the end dirty, the folder had other changes, too. Null: unknown.';

-- +goose Down
DROP TABLE applied_rule;
