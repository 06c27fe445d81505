-- The channel WEBHOOK. A channel says now whether it can know that a message has arrived, so that
-- the next one needs no change of event_type_escalation. The tables are in the order in which a plan
-- locks them, and all of them but recipient are small. A view gets no column from Herald.
-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) IN ('r', 'p') THEN
        ALTER TABLE recipient ADD COLUMN webhook_url text;
        COMMENT ON COLUMN recipient.webhook_url IS 'URL for WEBHOOK, at one of WEBHOOK_ALLOWED_HOSTS; a secret. Null or empty: no webhook.';
    END IF;
END
$$;
-- +goose StatementEnd

-- The foreign key holds for rows that wait until DELIVERED. For the others confirms is null.
ALTER TABLE event_type_escalation
    DROP CONSTRAINT event_type_escalation_known,
    ADD COLUMN confirms boolean GENERATED ALWAYS AS (CASE until WHEN 'DELIVERED' THEN true END) STORED;
ALTER TABLE channel ADD COLUMN confirms boolean NOT NULL DEFAULT false;
UPDATE channel SET confirms = true WHERE channel_type IN ('WEBSOCKET', 'EMAIL', 'SMS');
CREATE UNIQUE INDEX channel_confirms ON channel (channel_type, confirms);
ALTER TABLE event_type_escalation
    ADD CONSTRAINT event_type_escalation_known FOREIGN KEY (from_channel, confirms) REFERENCES channel (channel_type, confirms);
COMMENT ON COLUMN event_type_escalation.until IS 'DELIVERED: the wait ends when the message has arrived or was read; from_channel must be able to know that (channel.confirms). READ: when the recipient has read any notification of the event.';
COMMENT ON COLUMN event_type_escalation.confirms IS 'Herald''s: true if until is DELIVERED.';
COMMENT ON COLUMN channel.confirms IS 'Whether it can know that a message has arrived: from a receipt, or from the client.';
COMMENT ON COLUMN channel.channel_type IS 'Its name, such as EMAIL.';

INSERT INTO channel (channel_type) VALUES ('WEBHOOK');
INSERT INTO channel_user_type (channel_type, user_type)
SELECT 'WEBHOOK', user_type
FROM   user_type
WHERE  user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN');

-- +goose Down
-- It fails while other rows name the channel.
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) IN ('r', 'p') THEN
        ALTER TABLE recipient DROP COLUMN webhook_url;
    END IF;
END
$$;
-- +goose StatementEnd
ALTER TABLE event_type_escalation
    DROP CONSTRAINT event_type_escalation_known,
    DROP COLUMN confirms,
    ADD CONSTRAINT event_type_escalation_known CHECK (until = 'READ' OR from_channel NOT IN ('PUSH', 'SLACK'));
COMMENT ON COLUMN event_type_escalation.until IS 'DELIVERED: the wait ends when the message has arrived or was read; PUSH and SLACK cannot know that. READ: when the recipient has read any notification of the event.';
DELETE FROM channel_user_type WHERE channel_type = 'WEBHOOK';
DELETE FROM channel WHERE channel_type = 'WEBHOOK';
ALTER TABLE channel DROP COLUMN confirms;
COMMENT ON COLUMN channel.channel_type IS 'Its name: WEBSOCKET, EMAIL, PUSH, SMS, SLACK.';
