-- Pauses the optional messages of a sender that too many recipients report, or whose messages bounce or are blocked too often.
-- +goose Up
ALTER TABLE delivery_receipt ADD COLUMN harm text;
ALTER TABLE delivery_receipt ADD CONSTRAINT delivery_receipt_harm CHECK (harm IN ('COMPLAINT', 'BOUNCE', 'BLOCK')) NOT VALID;

COMMENT ON COLUMN delivery_receipt.harm IS 'What harms the sender''s reputation. COMPLAINT: the recipient reported the message as spam. BOUNCE: the mailbox does not exist. BLOCK: the carrier blocked the text message. Null: nothing.';

ALTER TABLE delivery_attempt ADD COLUMN sender text;

COMMENT ON COLUMN delivery_attempt.sender IS 'Whom the message is from: EMAIL_FROM, TWILIO_FROM or VONAGE_FROM of the worker that sent it. Null: no provider may have the message, or the channel has no senders.';

ALTER TABLE sweep ADD COLUMN receipts_to timestamptz;

COMMENT ON COLUMN sweep.receipts_to IS 'delivery_receipt.received_at up to which sender_count has all receipts. Null: the sweep counted none, as a worker of 1.0.';

CREATE TABLE sender_count (
    channel    text,
    provider   text,
    sender     text,
    since      timestamptz,
    kind       text,
    recipients bigint[] NOT NULL,
    CONSTRAINT sender_count_pkey PRIMARY KEY (channel, provider, sender, since, kind),
    CONSTRAINT sender_count_channel FOREIGN KEY (channel) REFERENCES channel,
    CONSTRAINT sender_count_kind CHECK (kind IN ('RECIPIENT', 'COMPLAINT', 'BOUNCE', 'BLOCK')),
    CONSTRAINT sender_count_size CHECK (cardinality(recipients) BETWEEN 1 AND 4096)
);

COMMENT ON TABLE sender_count IS 'Whom a sender reached on each day, as samples of hashes. The sweep counts receipts; rows leave after 8 days.';
COMMENT ON COLUMN sender_count.channel IS 'EMAIL or SMS.';
COMMENT ON COLUMN sender_count.provider IS 'notification.provider.';
COMMENT ON COLUMN sender_count.sender IS 'delivery_attempt.sender.';
COMMENT ON COLUMN sender_count.since IS 'Midnight in UTC of the day of notification.sent_at, or sender_state.resumed_at for messages after the resume on that day.';
COMMENT ON COLUMN sender_count.kind IS 'RECIPIENT: a receipt tells if a message arrived. COMPLAINT, BOUNCE, BLOCK: delivery_receipt.harm.';
COMMENT ON COLUMN sender_count.recipients IS 'The 4,096 smallest hashes of the recipients. Fewer hashes are all of them; 4,096 tell the number of recipients to about 2 %.';

CREATE TABLE sender_state (
    channel       text,
    provider      text,
    sender        text,
    recipients    bigint DEFAULT 0 NOT NULL,
    complaints    bigint DEFAULT 0 NOT NULL,
    bounces       bigint DEFAULT 0 NOT NULL,
    blocks        bigint DEFAULT 0 NOT NULL,
    counted_at    timestamptz DEFAULT now() NOT NULL,
    paused_at     timestamptz,
    resumed_at    timestamptz,
    resumed_by    text,
    resume_reason text,
    CONSTRAINT sender_state_pkey PRIMARY KEY (channel, provider, sender),
    CONSTRAINT sender_state_channel FOREIGN KEY (channel) REFERENCES channel,
    CONSTRAINT sender_state_counts CHECK (least(recipients, complaints, bounces, blocks) >= 0),
    CONSTRAINT sender_state_resumed CHECK (num_nulls(resumed_at, resumed_by, resume_reason) IN (0, 3))
);

COMMENT ON TABLE sender_state IS 'The senders, what recipients and carriers said of them within seven days, and whether their optional messages are paused. All workers read it every two seconds.';
COMMENT ON COLUMN sender_state.channel IS 'EMAIL or SMS.';
COMMENT ON COLUMN sender_state.provider IS 'notification.provider.';
COMMENT ON COLUMN sender_state.sender IS 'delivery_attempt.sender.';
COMMENT ON COLUMN sender_state.recipients IS 'Recipients of messages that were sent within seven days, and since resumed_at, with a receipt. While paused, the counts stay as they were.';
COMMENT ON COLUMN sender_state.complaints IS 'How many of them reported a message as spam.';
COMMENT ON COLUMN sender_state.bounces IS 'How many of them have a mailbox that does not exist.';
COMMENT ON COLUMN sender_state.blocks IS 'How many of them have a carrier that blocked a text message.';
COMMENT ON COLUMN sender_state.counted_at IS 'When the sweep counted last.';
COMMENT ON COLUMN sender_state.paused_at IS 'Since when the optional messages of the sender wait, at all providers of the channel. Null: they are sent.';
COMMENT ON COLUMN sender_state.resumed_at IS 'When an operator last resumed the sender. Messages sent before count no more. Null: never.';
COMMENT ON COLUMN sender_state.resumed_by IS 'HERALD_ACTOR, else user@host.';
COMMENT ON COLUMN sender_state.resume_reason IS 'Why, in their words.';

-- +goose Down
DROP TABLE sender_state;
DROP TABLE sender_count;
ALTER TABLE sweep DROP COLUMN receipts_to;
ALTER TABLE delivery_attempt DROP COLUMN sender;
ALTER TABLE delivery_receipt DROP COLUMN harm;
