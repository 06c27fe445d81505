-- Record follows and mutes in the history of preferences.
-- +goose Up
ALTER TABLE preference_change ADD COLUMN entity_type text;
ALTER TABLE preference_change ADD COLUMN entity_id text;
ALTER TABLE preference_change DROP CONSTRAINT preference_change_setting;
ALTER TABLE preference_change ADD CONSTRAINT preference_change_setting CHECK (
    setting IN ('ENABLED', 'QUIET_HOURS', 'PRIORITY', 'TIMEZONE', 'DIGEST_AT', 'FOLLOW', 'MUTE')) NOT VALID;

COMMENT ON TABLE preference_change IS 'Each change of user_notification_preferences, user_category_preferences, user_settings, entity_follow and entity_mute. Triggers write it.';
COMMENT ON COLUMN preference_change.setting IS 'ENABLED, QUIET_HOURS, PRIORITY, TIMEZONE, DIGEST_AT, FOLLOW or MUTE.';
COMMENT ON COLUMN preference_change.entity_type IS 'Kind of the entity that the person follows or has muted. Null: the setting is not FOLLOW or MUTE.';
COMMENT ON COLUMN preference_change.entity_id IS 'Id of the entity.';
COMMENT ON COLUMN preference_change.old_value IS 'true, 22:00–08:00, NORMAL, Europe/Rome, 08:00 or IMPORTANT. Null: no quiet hours, the zone of the directory, the usual time, not followed.';
COMMENT ON COLUMN preference_change.changed_by IS 'Who changed it: inbox, link, unsubscribe link, sendgrid, else the role of the session.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION record_preference_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO preference_change (user_type, user_id, channel, category, entity_type, entity_id, setting, old_value, new_value)
    SELECT p.r ->> 'user_type', p.r ->> 'user_id', p.r ->> 'channel_type', p.r ->> 'category', p.r ->> 'entity_type', p.r ->> 'entity_id', s.setting,
           coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value), coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value)
    FROM   (VALUES (false, to_jsonb(OLD)), (true, to_jsonb(NEW))) AS p (is_new, r)
    CROSS JOIN LATERAL (
        VALUES ('ENABLED', p.r ->> 'enabled', 'true'),
               ('PRIORITY', p.r ->> 'priority', 'NORMAL'),
               ('QUIET_HOURS', CASE WHEN (p.r ->> 'quiet_hours_enabled')::boolean AND p.r ->> 'quiet_hours_start' <> p.r ->> 'quiet_hours_end'
                                    THEN regexp_replace((p.r ->> 'quiet_hours_start') || '–' || (p.r ->> 'quiet_hours_end'), ':00(?=–|$)', '', 'g') END, NULL),
               ('TIMEZONE', p.r ->> 'timezone', NULL),
               ('DIGEST_AT', regexp_replace(p.r ->> 'digest_at', ':00$', ''), NULL),
               ('FOLLOW', p.r ->> 'level', NULL),
               ('MUTE', CASE TG_TABLE_NAME WHEN 'entity_mute' THEN 'true' END, 'false')
    ) AS s (setting, value, default_value)
    WHERE  p.r IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, 6, 7, s.default_value
    HAVING coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value) IS DISTINCT FROM coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- CREATE OR REPLACE FUNCTION removes the search path.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION record_preference_change() SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

CREATE TRIGGER entity_follow_change
    AFTER INSERT OR DELETE OR UPDATE ON entity_follow
    FOR EACH ROW
    EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER entity_mute_change
    AFTER INSERT OR DELETE OR UPDATE ON entity_mute
    FOR EACH ROW
    EXECUTE FUNCTION record_preference_change();

-- +goose Down
DROP TRIGGER entity_follow_change ON entity_follow;
DROP TRIGGER entity_mute_change ON entity_mute;
DELETE FROM preference_change WHERE setting IN ('FOLLOW', 'MUTE');

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION record_preference_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO preference_change (user_type, user_id, channel, category, setting, old_value, new_value)
    SELECT p.r ->> 'user_type', p.r ->> 'user_id', p.r ->> 'channel_type', p.r ->> 'category', s.setting,
           coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value), coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value)
    FROM   (VALUES (false, to_jsonb(OLD)), (true, to_jsonb(NEW))) AS p (is_new, r)
    CROSS JOIN LATERAL (
        VALUES ('ENABLED', p.r ->> 'enabled', 'true'),
               ('PRIORITY', p.r ->> 'priority', 'NORMAL'),
               ('QUIET_HOURS', CASE WHEN (p.r ->> 'quiet_hours_enabled')::boolean AND p.r ->> 'quiet_hours_start' <> p.r ->> 'quiet_hours_end'
                                    THEN regexp_replace((p.r ->> 'quiet_hours_start') || '–' || (p.r ->> 'quiet_hours_end'), ':00(?=–|$)', '', 'g') END, NULL),
               ('TIMEZONE', p.r ->> 'timezone', NULL),
               ('DIGEST_AT', regexp_replace(p.r ->> 'digest_at', ':00$', ''), NULL)
    ) AS s (setting, value, default_value)
    WHERE  p.r IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, s.default_value
    HAVING coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value) IS DISTINCT FROM coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION record_preference_change() SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

ALTER TABLE preference_change DROP CONSTRAINT preference_change_setting;
ALTER TABLE preference_change ADD CONSTRAINT preference_change_setting CHECK (
    setting IN ('ENABLED', 'QUIET_HOURS', 'PRIORITY', 'TIMEZONE', 'DIGEST_AT'));
ALTER TABLE preference_change DROP COLUMN entity_type;
ALTER TABLE preference_change DROP COLUMN entity_id;
