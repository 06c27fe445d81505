-- +goose Up
CREATE TABLE erased_recipient (
    user_type text        NOT NULL,
    user_id   text        NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT now(),

    PRIMARY KEY (user_type, user_id)
);

COMMENT ON TABLE erased_recipient IS 'People who were erased. Herald never tells them anything again, whatever the directory says. `starter recipient erase` writes it first.';
COMMENT ON COLUMN erased_recipient.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN erased_recipient.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN erased_recipient.erased_at IS 'When the first run began.';

-- +goose Down
DROP TABLE erased_recipient;
