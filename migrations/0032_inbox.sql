-- +goose Up
-- What a recipient sees and sets in their inbox. A column that is null is added without touching the rows.
ALTER TABLE notification ADD COLUMN available_at timestamptz;

COMMENT ON COLUMN notification.available_at IS 'When its first attempt ended, sent or failed, and so when it came into the inbox: ids become visible out of order, and a delayed row has an old one. Null: no attempt has ended, or that was before there was this column.';
COMMENT ON COLUMN notification.delivered_at IS 'When it arrived, by a receipt; of WEBSOCKET, when a client acknowledged it or it was read.';
COMMENT ON COLUMN notification.status IS 'PENDING: not sent yet. SENT: the provider accepted it. DELIVERED: a receipt says that it arrived; of WEBSOCKET, a client of the recipient acknowledged it, or they read it. FAILED: refused, attempts used up, or no text. CANCELLED: by an operator, or dropped after a wait; last_error says which.';

CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';

-- The views of one user type have the columns of notification, and their comments.
-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.relname, a.attname, col_description(a.attrelid, a.attnum) AS text
        FROM   pg_class v
        JOIN   pg_attribute a ON a.attrelid = 'notification'::regclass AND a.attname IN ('available_at', 'delivered_at', 'status')
        WHERE  v.oid IN ('restaurant_notification'::regclass, 'customer_notification'::regclass, 'agency_notification'::regclass,
                         'admin_notification'::regclass, 'guest_notification'::regclass)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', said.relname, said.attname, said.text);
    END LOOP;
END;
$$;
-- +goose StatementEnd

-- A ticket takes the place of a token in the address of a socket, which proxies write into their logs.
CREATE TABLE gateway_ticket (
    ticket_hash      bytea       PRIMARY KEY,
    user_type        text        NOT NULL, -- without a foreign key: it lives for seconds, and the token that it stands for was checked
    user_id          text        NOT NULL,
    token_expires_at timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL
);

CREATE INDEX gateway_ticket_expires_at ON gateway_ticket (expires_at);

COMMENT ON TABLE gateway_ticket IS 'Tickets for one socket each, so that any gateway takes what another has given. A ticket is deleted as it is used; expired ones are deleted as new ones are made.';
COMMENT ON COLUMN gateway_ticket.ticket_hash IS 'Of the ticket, which stands nowhere.';
COMMENT ON COLUMN gateway_ticket.user_type IS 'Of the recipient.';
COMMENT ON COLUMN gateway_ticket.user_id IS 'Of the recipient.';
COMMENT ON COLUMN gateway_ticket.token_expires_at IS 'When the token expires by which the ticket was given, and with it the socket.';
COMMENT ON COLUMN gateway_ticket.expires_at IS 'When the ticket expires.';

CREATE TABLE user_settings (
    user_type text NOT NULL,
    user_id   text NOT NULL,
    timezone  text NOT NULL,

    PRIMARY KEY (user_type, user_id),
    CONSTRAINT user_settings_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    -- An unknown zone raises an error here, where it is written.
    CONSTRAINT user_settings_timezone_known CHECK ((timestamptz '2000-01-01 00:00Z' AT TIME ZONE timezone) IS NOT NULL)
);

COMMENT ON TABLE user_settings IS 'What a recipient has set for themselves, apart from the directory, which may be somebody''s views.';
COMMENT ON COLUMN user_settings.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_settings.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_settings.timezone IS 'IANA time zone, such as Europe/Rome. It counts in place of recipient.timezone.';

COMMENT ON COLUMN user_notification_preferences.quiet_hours_start IS 'When their quiet hours begin, on the wall clock of user_settings.timezone, else of recipient.timezone; this time included. Start = end: never quiet.';

CREATE TABLE event_category (
    event_type text PRIMARY KEY,
    category   text NOT NULL,

    CONSTRAINT event_category_length CHECK (octet_length(category) BETWEEN 1 AND 60),
    CONSTRAINT event_category_printable CHECK (category !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]')
);

COMMENT ON TABLE event_category IS 'Which event types belong together for recipients, who can switch off a category over a channel. An event type without a row belongs to none.';
COMMENT ON COLUMN event_category.event_type IS 'event_outbox.event_type; * has no meaning here. It may be a type that has not come yet.';
COMMENT ON COLUMN event_category.category IS 'Its name as recipients read it, such as offers: 1 to 60 bytes, printable.';

CREATE TABLE user_category_preferences (
    user_type    text    NOT NULL,
    user_id      text    NOT NULL,
    category     text    NOT NULL,
    channel_type text    NOT NULL,
    enabled      boolean NOT NULL,

    PRIMARY KEY (user_type, user_id, category, channel_type),
    CONSTRAINT user_category_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT user_category_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel,
    CONSTRAINT user_category_preferences_category_length CHECK (octet_length(category) BETWEEN 1 AND 60)
);

COMMENT ON TABLE user_category_preferences IS 'What a recipient has set for a category over a channel. No row: on. It cannot switch on a channel that user_notification_preferences has off.';
COMMENT ON COLUMN user_category_preferences.user_type IS 'Of the recipient.';
COMMENT ON COLUMN user_category_preferences.user_id IS 'Of the recipient.';
COMMENT ON COLUMN user_category_preferences.category IS 'event_category.category, compared as it stands.';
COMMENT ON COLUMN user_category_preferences.channel_type IS 'One of channel.';
COMMENT ON COLUMN user_category_preferences.enabled IS 'false: they have switched the category off over the channel (USER_DISABLED). Where the event type is mandatory, it is ignored.';

-- +goose Down
DROP TABLE user_category_preferences;
DROP TABLE event_category;
DROP TABLE user_settings;
DROP TABLE gateway_ticket;
DROP VIEW guest_notification;
DROP VIEW admin_notification;
DROP VIEW agency_notification;
DROP VIEW customer_notification;
DROP VIEW restaurant_notification;
ALTER TABLE notification DROP COLUMN available_at;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
