-- The console's figures.
-- +goose Up
CREATE TABLE delivery_count (
    since   timestamptz,
    channel text,
    status  text,
    count   bigint NOT NULL,
    CONSTRAINT delivery_count_pkey PRIMARY KEY (since, channel, status),
    CONSTRAINT delivery_count_channel FOREIGN KEY (channel) REFERENCES channel,
    CONSTRAINT delivery_count_positive CHECK (count > 0)
);

COMMENT ON TABLE delivery_count IS 'How many deliveries were planned in each ten minutes, by channel and status. The sweep counts; rows leave after 8 days.';
COMMENT ON COLUMN delivery_count.since IS 'When the ten minutes begin.';
COMMENT ON COLUMN delivery_count.channel IS 'One of channel.';
COMMENT ON COLUMN delivery_count.status IS 'notification.status when the sweep counted: at most two hours after these ten minutes.';
COMMENT ON COLUMN delivery_count.count IS 'The number of deliveries.';

-- +goose Down
DROP TABLE delivery_count;
