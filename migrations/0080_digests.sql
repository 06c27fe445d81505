-- Digests: the first event at once, or a time of day on the recipient's clock.
-- +goose Up
ALTER TABLE event_type_channel_routing ADD COLUMN digest_first boolean NOT NULL DEFAULT false, ADD COLUMN digest_at time, ADD COLUMN digest_days text;
ALTER TABLE event_type_channel_routing
    ADD CONSTRAINT event_type_channel_routing_digest_days CHECK (digest_days IS NULL OR (digest_at IS NOT NULL AND digest_days ~ '^(mon|tue|wed|thu|fri|sat|sun)(,(mon|tue|wed|thu|fri|sat|sun)){0,6}$')),
    ADD CONSTRAINT event_type_channel_routing_digest_at CHECK ((digest_at IS NULL OR digest_at < '24:00') AND (delivery_strategy = 'AGGREGATE' OR (digest_at IS NULL AND NOT digest_first))),
    ADD CONSTRAINT event_type_channel_routing_digest_first CHECK (NOT digest_first OR throttle_window IS NULL);
COMMENT ON COLUMN event_type_channel_routing.digest_first IS 'For AGGREGATE: the first event is sent alone and at once. The digest collects what follows within digest_window, or until digest_at. Not with throttle_window.';
COMMENT ON COLUMN event_type_channel_routing.digest_at IS 'For AGGREGATE: the digest is sent at this time of day, by the clock of the recipient, instead of after digest_window. user_settings.digest_at replaces it. If the clocks skip the time, the digest is sent just after. Null: digest_window counts.';
COMMENT ON COLUMN event_type_channel_routing.digest_days IS 'With digest_at: the days of the week, such as mon,fri. Null: every day.';
COMMENT ON COLUMN throttle.throttle_key IS 'A hash of the value at throttle_key_path. Empty: none. first: the first delivery of a digest_first.';

ALTER TABLE user_settings ADD COLUMN digest_at time, ALTER COLUMN timezone DROP NOT NULL;
ALTER TABLE user_settings DROP CONSTRAINT user_settings_timezone_known;
ALTER TABLE user_settings
    ADD CONSTRAINT user_settings_timezone_known CHECK (timezone IS NULL OR (timestamptz '2000-01-01 00:00Z' AT TIME ZONE timezone) IS NOT NULL),
    ADD CONSTRAINT user_settings_digest_at CHECK (digest_at < '24:00');
COMMENT ON COLUMN user_settings.timezone IS 'IANA time zone, such as Europe/Rome. It counts in place of recipient.timezone. Null: recipient.timezone counts.';
COMMENT ON COLUMN user_settings.digest_at IS 'The recipient gets digests at this time of day, if their routing has a digest_at. Null: at that time.';

-- +goose Down
DELETE FROM user_settings WHERE timezone IS NULL;
ALTER TABLE user_settings DROP CONSTRAINT user_settings_timezone_known;
ALTER TABLE user_settings
    ADD CONSTRAINT user_settings_timezone_known CHECK ((timestamptz '2000-01-01 00:00Z' AT TIME ZONE timezone) IS NOT NULL),
    ALTER COLUMN timezone SET NOT NULL,
    DROP COLUMN digest_at;
ALTER TABLE event_type_channel_routing DROP COLUMN digest_days, DROP COLUMN digest_at, DROP COLUMN digest_first;
