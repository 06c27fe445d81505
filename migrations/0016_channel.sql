-- +goose Up
-- The channels that there are. One more is one more row here, and a row in internal/notification/channel.go.
CREATE TABLE channel (
    channel_type text PRIMARY KEY,

    -- It stands in settings, names of queues, and the ids of deliveries, which stay within 255 bytes.
    CONSTRAINT channel_name CHECK (channel_type ~ '^[A-Z][A-Z0-9_]{0,10}$')
);

INSERT INTO channel (channel_type)
VALUES ('WEBSOCKET'), ('EMAIL'), ('PUSH'), ('SMS'), ('SLACK');

-- The tables are in the order in which a plan reads them. NOT VALID holds from now on, and reads no row: the next migration does.
ALTER TABLE event_type_channel_routing
    DROP CONSTRAINT event_type_channel_routing_channel,
    ADD CONSTRAINT event_type_channel_routing_channel FOREIGN KEY (channel_type) REFERENCES channel NOT VALID;
ALTER TABLE channel_user_type
    DROP CONSTRAINT channel_user_type_channel,
    ADD CONSTRAINT channel_user_type_channel FOREIGN KEY (channel_type) REFERENCES channel NOT VALID;
ALTER TABLE notification_template
    DROP CONSTRAINT notification_template_channel,
    ADD COLUMN channel_type text GENERATED ALWAYS AS (nullif(channel, '*')) STORED, -- null: every channel
    ADD CONSTRAINT notification_template_channel FOREIGN KEY (channel_type) REFERENCES channel NOT VALID;
ALTER TABLE entity_notification_settings
    DROP CONSTRAINT entity_notification_settings_channel,
    ADD CONSTRAINT entity_notification_settings_channel FOREIGN KEY (channel_type) REFERENCES channel NOT VALID;
ALTER TABLE user_notification_preferences
    DROP CONSTRAINT user_notification_preferences_channel,
    ADD CONSTRAINT user_notification_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel NOT VALID;

-- +goose Down
ALTER TABLE event_type_channel_routing
    DROP CONSTRAINT event_type_channel_routing_channel,
    ADD CONSTRAINT event_type_channel_routing_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')) NOT VALID;
ALTER TABLE channel_user_type
    DROP CONSTRAINT channel_user_type_channel,
    ADD CONSTRAINT channel_user_type_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')) NOT VALID;
ALTER TABLE notification_template
    DROP COLUMN channel_type,
    ADD CONSTRAINT notification_template_channel CHECK (channel IN ('*', 'WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')) NOT VALID;
ALTER TABLE entity_notification_settings
    DROP CONSTRAINT entity_notification_settings_channel,
    ADD CONSTRAINT entity_notification_settings_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')) NOT VALID;
ALTER TABLE user_notification_preferences
    DROP CONSTRAINT user_notification_preferences_channel,
    ADD CONSTRAINT user_notification_preferences_channel CHECK (channel_type IN ('WEBSOCKET', 'EMAIL', 'PUSH', 'SMS', 'SLACK')) NOT VALID;
DROP TABLE channel;
