-- +goose Up
-- Who there is, and how to reach them. An installation may replace these three tables by views over its own.

CREATE TABLE recipient (
    user_type         text    NOT NULL,
    user_id           text    NOT NULL,
    name              text    NOT NULL DEFAULT '',
    email             text,
    phone             text, -- E.164
    slack_webhook_url text, -- a secret
    locale            text    NOT NULL DEFAULT 'en',
    timezone          text    NOT NULL DEFAULT 'UTC', -- IANA
    active            boolean NOT NULL DEFAULT true,

    PRIMARY KEY (user_type, user_id),
    CONSTRAINT recipient_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')),
    -- With the longest event id and channel, a delivery's workflow ID stays within 255 bytes.
    CONSTRAINT recipient_user_id_length CHECK (octet_length(user_id) BETWEEN 1 AND 64),
    CONSTRAINT recipient_user_id_printable CHECK (user_id !~ '[[:cntrl:]]'),
    -- An unknown zone raises an error here, where it is written.
    CONSTRAINT recipient_timezone_known CHECK ((timestamptz '2000-01-01 00:00Z' AT TIME ZONE timezone) IS NOT NULL)
);

CREATE TABLE recipient_device (
    user_type text    NOT NULL,
    user_id   text    NOT NULL,
    token     text    NOT NULL, -- of Firebase Cloud Messaging; a secret
    active    boolean NOT NULL DEFAULT true,

    PRIMARY KEY (user_type, user_id, token),
    CONSTRAINT recipient_device_of_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient ON DELETE CASCADE,
    CONSTRAINT recipient_device_token_length CHECK (octet_length(token) BETWEEN 1 AND 1024)
);

CREATE TABLE entity_member (
    entity_type text    NOT NULL,
    entity_id   text    NOT NULL,
    user_type   text    NOT NULL,
    user_id     text    NOT NULL,
    role        text    NOT NULL,
    active      boolean NOT NULL DEFAULT true,

    PRIMARY KEY (entity_type, entity_id, user_type, user_id),
    CONSTRAINT entity_member_is_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient ON DELETE CASCADE
);

CREATE INDEX entity_member_user ON entity_member (user_type, user_id);

-- +goose Down
DROP TABLE entity_member;
DROP TABLE recipient_device;
DROP TABLE recipient;
