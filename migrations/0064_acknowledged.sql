-- +goose Up
COMMENT ON COLUMN event_outbox.acknowledged_at IS 'When RabbitMQ acknowledged the event''s message. Null: not yet, or the event has no message, since PUBLISH_EVENTS is false or it concerns no audience. Release 0.2 wrote here when the topic of its outbox acknowledged the event.';

-- +goose Down
COMMENT ON COLUMN event_outbox.acknowledged_at IS 'When the broker of its topic acknowledged the event; for an event of another outbox that goes to no topic, when its workflow was started. Null: not yet, or it is Herald''s own and goes to no topic.';
