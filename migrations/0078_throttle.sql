-- One message of many: the first for a recipient, channel, event type and key within a window.
-- +goose Up
ALTER TABLE event_type_channel_routing ADD COLUMN throttle_window interval, ADD COLUMN throttle_key_path text;
ALTER TABLE event_type_channel_routing
    ADD CONSTRAINT event_type_channel_routing_throttle_window CHECK (throttle_window BETWEEN '1 second' AND '30 days'),
    ADD CONSTRAINT event_type_channel_routing_throttle_key CHECK (throttle_key_path IS NULL OR throttle_window IS NOT NULL);
COMMENT ON COLUMN event_type_channel_routing.throttle_window IS 'A recipient gets the first event of the type over the channel. For this time after it, further events with the same key are THROTTLED, mandatory or not: 1 second to 30 days. Null: no limit.';
COMMENT ON COLUMN event_type_channel_routing.throttle_key_path IS 'Where the key of throttle_window is in the payload, such as sensorId. Several paths with commas: the first that exists counts. Events without a value share one key. Null: all events of the type share one key.';

-- The columns have no default, so the table is not written.
ALTER TABLE notification_decision ADD COLUMN throttled_by jsonb;
COMMENT ON COLUMN notification_decision.throttled_by IS 'The deliveries that the recipient got instead, by channel: {"SMS": "evt-1-customer42-SMS"}. Null: no decision is THROTTLED.';

CREATE TABLE throttle (
    user_type    text NOT NULL CONSTRAINT throttle_user_type REFERENCES user_type,
    user_id      text NOT NULL,
    event_type   text NOT NULL,
    channel_type text NOT NULL CONSTRAINT throttle_channel REFERENCES channel,
    throttle_key text NOT NULL,
    delivery_id  text,
    began_at     timestamptz,
    ends_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_type, user_id, event_type, channel_type, throttle_key)
);
CREATE INDEX throttle_ends ON throttle (ends_at);
COMMENT ON TABLE throttle IS 'The last delivery of each recipient, event type, channel and key with a throttle_window. Planning locks the rows, so concurrent events take turns. The sweep deletes rows that are over.';
COMMENT ON COLUMN throttle.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN throttle.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN throttle.event_type IS 'Of the events.';
COMMENT ON COLUMN throttle.channel_type IS 'Of the deliveries.';
COMMENT ON COLUMN throttle.throttle_key IS 'A hash of the value at throttle_key_path. Empty: none.';
COMMENT ON COLUMN throttle.delivery_id IS 'The delivery that was planned. Null: none, planning locks the row. A delivery that ended FAILED or CANCELLED throttles nothing.';
COMMENT ON COLUMN throttle.began_at IS 'When the delivery was planned.';
COMMENT ON COLUMN throttle.ends_at IS 'When the window ends, by the routing at planning.';

-- +goose Down
DROP TABLE throttle;
ALTER TABLE notification_decision DROP COLUMN throttled_by;
ALTER TABLE event_type_channel_routing DROP COLUMN throttle_key_path, DROP COLUMN throttle_window;
