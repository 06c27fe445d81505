-- +goose Up
-- Why somebody was told over a channel, or was not: {"EMAIL":"SELECTED","PUSH":"USER_DISABLED"}.
CREATE TABLE notification_decision (
    event_id   text        NOT NULL,
    user_type  text        NOT NULL,
    user_id    text        NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now(),
    channels   jsonb       NOT NULL,

    PRIMARY KEY (event_id, user_type, user_id),
    CONSTRAINT notification_decision_channels CHECK (jsonb_typeof(channels) = 'object')
);

-- One delivery: one event, one recipient, one channel.
CREATE TABLE notification (
    id                  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id            text        NOT NULL,
    event_type          text        NOT NULL,
    user_type           text        NOT NULL,
    user_id             text        NOT NULL,
    channel             text        NOT NULL,
    delivery_id         text        NOT NULL, -- the child's workflow ID
    title               text, -- null, as the body: could not be rendered, and last_error says why
    body                text,
    recipient_address   text, -- null where the channel has none of its own: WEBSOCKET, PUSH
    status              text        NOT NULL DEFAULT 'PENDING',
    strategy            text        NOT NULL DEFAULT 'IMMEDIATE',
    priority            text        NOT NULL DEFAULT 'NORMAL',
    send_after          timestamptz, -- null: at once
    attempt_count       int         NOT NULL DEFAULT 0,
    last_error          text,
    provider_message_id text,
    digest_id           text,
    created_at          timestamptz NOT NULL DEFAULT now(),
    sent_at             timestamptz,
    delivered_at        timestamptz,
    read_at             timestamptz,

    CONSTRAINT notification_once UNIQUE (event_id, user_type, user_id, channel),
    CONSTRAINT notification_delivery_id_once UNIQUE (delivery_id),
    CONSTRAINT notification_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')),
    CONSTRAINT notification_channel CHECK (channel IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT notification_status CHECK (status IN ('PENDING', 'SENT', 'DELIVERED', 'FAILED', 'CANCELLED')),
    CONSTRAINT notification_strategy CHECK (strategy IN ('IMMEDIATE', 'DELAYED', 'AGGREGATE')),
    CONSTRAINT notification_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW')),
    CONSTRAINT notification_sent_has_time CHECK (status NOT IN ('SENT', 'DELIVERED') OR sent_at IS NOT NULL),
    CONSTRAINT notification_delivered_has_time CHECK (status <> 'DELIVERED' OR delivered_at IS NOT NULL),
    CONSTRAINT notification_failed_says_why CHECK (status <> 'FAILED' OR last_error IS NOT NULL),
    CONSTRAINT notification_text_or_reason CHECK ((title IS NOT NULL AND body IS NOT NULL) OR last_error IS NOT NULL)
);

CREATE INDEX notification_of_user ON notification (user_type, user_id, id DESC);
CREATE INDEX notification_created_at ON notification (created_at);

-- One attempt to hand a delivery to its provider. Begun and never ended: the process died in the call, and a later attempt may be a repeat.
CREATE TABLE delivery_attempt (
    delivery_id     text        NOT NULL,
    attempt         int         NOT NULL,
    started_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    outcome         text, -- null: not ended
    provider_status int, -- HTTP status of the answer; null: none
    detail          text, -- never an address or a text

    PRIMARY KEY (delivery_id, attempt),
    CONSTRAINT delivery_attempt_of_notification FOREIGN KEY (delivery_id) REFERENCES notification (delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_attempt_outcome CHECK (outcome IN ('SENT', 'REFUSED', 'BUSY', 'ACCOUNT', 'AMBIGUOUS', 'ERROR')),
    CONSTRAINT delivery_attempt_ended_with_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
);

CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';

-- +goose Down
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
DROP TABLE delivery_attempt;
DROP TABLE notification;
DROP TABLE notification_decision;
