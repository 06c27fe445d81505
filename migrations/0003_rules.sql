-- +goose Up
-- Who hears of what, over which channel, and in which words.

CREATE TABLE event_type_recipients (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_type     text   NOT NULL,
    user_type      text, -- null: any
    entity_type    text   NOT NULL,
    entity_id_path text, -- in the payload: restaurantId, customer.id
    roles          text[], -- null: any

    CONSTRAINT event_type_recipients_once UNIQUE NULLS NOT DISTINCT (event_type, user_type, entity_type, entity_id_path),
    CONSTRAINT event_type_recipients_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')),
    CONSTRAINT event_type_recipients_path CHECK (entity_type IN ('ADMIN', 'BROADCAST') OR coalesce(entity_id_path, '') <> '')
);

CREATE TABLE event_type_channel_routing (
    event_type         text     NOT NULL,
    channel_type       text     NOT NULL,
    mandatory          boolean  NOT NULL DEFAULT false,
    delivery_strategy  text     NOT NULL DEFAULT 'IMMEDIATE',
    delay              interval NOT NULL DEFAULT '0', -- of DELAYED
    digest_window      interval NOT NULL DEFAULT '5 minutes', -- of AGGREGATE
    quiet_hours_action text     NOT NULL DEFAULT 'DROP',
    priority           text, -- null: the recipient's preference decides

    PRIMARY KEY (event_type, channel_type),
    CONSTRAINT event_type_channel_routing_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT event_type_channel_routing_strategy CHECK (delivery_strategy IN ('IMMEDIATE', 'DELAYED', 'AGGREGATE')),
    CONSTRAINT event_type_channel_routing_delay CHECK (delay BETWEEN interval '0' AND interval '30 days'),
    CONSTRAINT event_type_channel_routing_delayed CHECK (delivery_strategy <> 'DELAYED' OR delay > interval '0'),
    CONSTRAINT event_type_channel_routing_digest_window CHECK (digest_window BETWEEN interval '1 second' AND interval '7 days'),
    CONSTRAINT event_type_channel_routing_quiet_hours_action CHECK (quiet_hours_action IN ('DROP', 'DEFER')),
    CONSTRAINT event_type_channel_routing_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW'))
);

CREATE TABLE entity_notification_settings (
    entity_type    text    NOT NULL,
    entity_id      text    NOT NULL,
    channel_type   text    NOT NULL,
    event_type     text, -- null: every event type
    enabled        boolean NOT NULL DEFAULT true,
    max_recipients int, -- null: no limit
    allowed_roles  text[], -- null: any role

    CONSTRAINT entity_notification_settings_once UNIQUE NULLS NOT DISTINCT (entity_type, entity_id, channel_type, event_type),
    CONSTRAINT entity_notification_settings_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT entity_notification_settings_max_recipients CHECK (max_recipients >= 0)
);

CREATE TABLE user_notification_preferences (
    user_type           text    NOT NULL,
    user_id             text    NOT NULL,
    channel_type        text    NOT NULL,
    enabled             boolean NOT NULL DEFAULT true,
    quiet_hours_enabled boolean NOT NULL DEFAULT false,
    quiet_hours_start   time, -- in the recipient's zone; inclusive
    quiet_hours_end     time, -- exclusive; before the start: the next day
    priority            text    NOT NULL DEFAULT 'NORMAL',

    PRIMARY KEY (user_type, user_id, channel_type),
    CONSTRAINT user_notification_preferences_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT user_notification_preferences_quiet_hours CHECK (NOT quiet_hours_enabled OR (quiet_hours_start IS NOT NULL AND quiet_hours_end IS NOT NULL)),
    CONSTRAINT user_notification_preferences_quiet_hours_in_day CHECK (quiet_hours_start < time '24:00' AND quiet_hours_end < time '24:00'),
    CONSTRAINT user_notification_preferences_priority CHECK (priority IN ('HIGH', 'NORMAL', 'LOW'))
);

-- Which channel may serve whom.
CREATE TABLE channel_user_type (
    channel_type text NOT NULL,
    user_type    text NOT NULL,

    PRIMARY KEY (channel_type, user_type),
    CONSTRAINT channel_user_type_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT channel_user_type_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST'))
);

INSERT INTO channel_user_type (channel_type, user_type)
VALUES ('WEBSOCKET', 'RESTAURANT_USER'), ('WEBSOCKET', 'CUSTOMER'), ('WEBSOCKET', 'AGENCY_USER'), ('WEBSOCKET', 'ADMIN'), ('WEBSOCKET', 'GUEST'),
       ('EMAIL', 'RESTAURANT_USER'), ('EMAIL', 'CUSTOMER'), ('EMAIL', 'AGENCY_USER'), ('EMAIL', 'ADMIN'),
       ('PUSH', 'RESTAURANT_USER'), ('PUSH', 'CUSTOMER'), ('PUSH', 'AGENCY_USER'),
       ('SMS', 'CUSTOMER'), ('SMS', 'RESTAURANT_USER'), ('SMS', 'AGENCY_USER'),
       ('SLACK', 'ADMIN'), ('SLACK', 'RESTAURANT_USER');

CREATE TABLE notification_template (
    event_type text NOT NULL DEFAULT '*', -- *: every event type
    channel    text NOT NULL DEFAULT '*', -- *: every channel; plain text
    locale     text NOT NULL DEFAULT 'en',
    title      text NOT NULL,
    body       text NOT NULL, -- HTML for EMAIL

    PRIMARY KEY (event_type, channel, locale),
    CONSTRAINT notification_template_channel CHECK (channel IN ('*', 'WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')),
    CONSTRAINT notification_template_size CHECK (octet_length(title) + octet_length(body) <= 65536)
);

-- +goose Down
DROP TABLE notification_template;
DROP TABLE channel_user_type;
DROP TABLE user_notification_preferences;
DROP TABLE entity_notification_settings;
DROP TABLE event_type_channel_routing;
DROP TABLE event_type_recipients;
