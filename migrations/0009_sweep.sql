-- +goose Up
-- What the last sweeps found; older rows are deleted.
CREATE TABLE sweep (
    id                 bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at                 timestamptz NOT NULL DEFAULT now(), -- its end
    looked             int         NOT NULL, -- events and deliveries whose workflow was asked for
    started_again      int         NOT NULL,
    closed             int         NOT NULL, -- CANCELLED, since an operator had ended the workflow
    failed             int         NOT NULL, -- started again in vain as often as may be
    after_event        text        NOT NULL, -- where the next one goes on; empty: from the beginning
    after_notification bigint      NOT NULL -- 0: from the beginning
);

-- +goose Down
DROP TABLE sweep;
