-- Not too many: limits on the messages to one recipient over a channel.
-- +goose Up
CREATE TABLE frequency_cap (
    channel_type text NOT NULL CONSTRAINT frequency_cap_channel REFERENCES channel,
    category     text,
    at_most      integer CONSTRAINT frequency_cap_at_most CHECK (at_most BETWEEN 1 AND 100),
    per          interval CONSTRAINT frequency_cap_per CHECK (per BETWEEN '1 second' AND '31 days'),
    spacing      interval CONSTRAINT frequency_cap_spacing CHECK (spacing BETWEEN '1 second' AND '31 days'),
    action       text NOT NULL DEFAULT 'DROP' CONSTRAINT frequency_cap_action CHECK (action IN ('DROP', 'DEFER')),
    CONSTRAINT frequency_cap_once UNIQUE NULLS NOT DISTINCT (channel_type, category),
    CONSTRAINT frequency_cap_limit CHECK ((at_most IS NULL) = (per IS NULL) AND (at_most IS NOT NULL OR spacing IS NOT NULL))
);
COMMENT ON TABLE frequency_cap IS 'Limits on the messages to one recipient over a channel.';
COMMENT ON COLUMN frequency_cap.channel_type IS 'The channel that is limited.';
COMMENT ON COLUMN frequency_cap.category IS 'Limits the messages of this category. Null: all messages over the channel together. If both rows exist, both limits hold.';
COMMENT ON COLUMN frequency_cap.at_most IS 'A recipient gets at most so many messages in any window of per: 1 to 100. Mandatory messages are sent, and count. Null: only spacing limits.';
COMMENT ON COLUMN frequency_cap.per IS 'The window of at_most: 1 second to 31 days. A day has 24 hours.';
COMMENT ON COLUMN frequency_cap.spacing IS 'The least time between two messages: 1 second to 31 days. Null: none.';
COMMENT ON COLUMN frequency_cap.action IS 'What happens to a message over the limit. DROP: it is not sent (CAPPED). DEFER: it waits until there is room.';

CREATE TABLE counted_message (
    message_id   text PRIMARY KEY,
    user_type    text NOT NULL,
    user_id      text NOT NULL,
    channel_type text NOT NULL,
    category     text NOT NULL,
    at           timestamptz NOT NULL,
    waits        boolean NOT NULL,
    place        bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX counted_message_recipient ON counted_message (user_type, user_id, channel_type, at);
CREATE INDEX counted_message_at ON counted_message (at);
COMMENT ON TABLE counted_message IS 'The messages that a frequency_cap counts. Attempts write it. The sweep deletes rows that count no more.';
COMMENT ON COLUMN counted_message.message_id IS 'A delivery_id or a digest_id: a digest is one message.';
COMMENT ON COLUMN counted_message.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN counted_message.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN counted_message.channel_type IS 'Of the message.';
COMMENT ON COLUMN counted_message.category IS 'Of the event type. Empty: none.';
COMMENT ON COLUMN counted_message.at IS 'When the last attempt began. With waits: when the next attempt begins.';
COMMENT ON COLUMN counted_message.waits IS 'The message waits for room.';
COMMENT ON COLUMN counted_message.place IS 'The order of the messages that wait.';

-- +goose Down
DROP TABLE counted_message;
DROP TABLE frequency_cap;
