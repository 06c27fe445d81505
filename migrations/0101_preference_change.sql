-- Each change of what recipients set. Tables of preferences have the last state only.
-- +goose Up
CREATE TABLE preference_change (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL DEFAULT now(),
    user_type  text        NOT NULL,
    user_id    text        NOT NULL,
    setting    text        NOT NULL,
    channel    text,
    category   text,
    old_value  text,
    new_value  text,
    changed_by text        NOT NULL DEFAULT coalesce(nullif(current_setting('herald.changed_by', true), ''), session_user),

    CONSTRAINT preference_change_pkey PRIMARY KEY (user_type, user_id, id),
    CONSTRAINT preference_change_setting CHECK (setting IN ('ENABLED', 'QUIET_HOURS', 'PRIORITY', 'TIMEZONE', 'DIGEST_AT')),
    CONSTRAINT preference_change_differs CHECK (old_value IS DISTINCT FROM new_value)
);
CREATE INDEX preference_change_at ON preference_change (at);

COMMENT ON TABLE preference_change IS 'Each change of user_notification_preferences, user_category_preferences and user_settings. Triggers write it.';
COMMENT ON COLUMN preference_change.id IS 'The order of the changes of one setting.';
COMMENT ON COLUMN preference_change.at IS 'When the transaction of the change began.';
COMMENT ON COLUMN preference_change.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN preference_change.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN preference_change.setting IS 'ENABLED, QUIET_HOURS, PRIORITY, TIMEZONE or DIGEST_AT.';
COMMENT ON COLUMN preference_change.channel IS 'One of channel. Null: the setting holds for all.';
COMMENT ON COLUMN preference_change.category IS 'event_category.category. Null: the setting holds for all.';
COMMENT ON COLUMN preference_change.old_value IS 'true, 22:00–08:00, NORMAL, Europe/Rome or 08:00. Null: no quiet hours, the zone of the directory, the usual time.';
COMMENT ON COLUMN preference_change.new_value IS 'As old_value.';
COMMENT ON COLUMN preference_change.changed_by IS 'Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.';

-- A missing row means the same as one with the defaults, so writing the defaults changes nothing. A
-- new key is a change of two recipients, channels or categories. The row's lock orders its changes.
-- +goose StatementBegin
CREATE FUNCTION record_preference_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
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

-- The function runs as its owner, so a role that changes preferences needs no right to write here.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION record_preference_change() SET search_path = %I, pg_temp', current_schema());
    REVOKE EXECUTE ON FUNCTION record_preference_change() FROM PUBLIC;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER user_notification_preferences_change
    AFTER INSERT OR UPDATE OR DELETE ON user_notification_preferences
    FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_category_preferences_change
    AFTER INSERT OR UPDATE OR DELETE ON user_category_preferences
    FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_settings_change
    AFTER INSERT OR UPDATE OR DELETE ON user_settings
    FOR EACH ROW EXECUTE FUNCTION record_preference_change();

-- +goose Down
DROP FUNCTION record_preference_change() CASCADE;
DROP TABLE preference_change;
