-- +goose NO TRANSACTION
-- +goose Up
-- Each reads its table once, beside its readers and writers. Preferences may be many.
ALTER TABLE event_type_channel_routing VALIDATE CONSTRAINT event_type_channel_routing_channel;
ALTER TABLE channel_user_type VALIDATE CONSTRAINT channel_user_type_channel;
ALTER TABLE notification_template VALIDATE CONSTRAINT notification_template_channel;
ALTER TABLE entity_notification_settings VALIDATE CONSTRAINT entity_notification_settings_channel;
ALTER TABLE user_notification_preferences VALIDATE CONSTRAINT user_notification_preferences_channel;

-- +goose Down
SELECT 1; -- the constraints go with the migration before
