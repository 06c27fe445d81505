-- +goose Up
-- When and how somebody chose. The trigger fills both in for every writer; Herald's own writers name themselves.
ALTER TABLE user_notification_preferences
    ADD COLUMN changed_at timestamptz,
    ADD COLUMN changed_by text;
ALTER TABLE user_category_preferences
    ADD COLUMN changed_at timestamptz,
    ADD COLUMN changed_by text;

COMMENT ON COLUMN user_notification_preferences.changed_at IS 'When enabled was last changed. Null: before this column.';
COMMENT ON COLUMN user_notification_preferences.changed_by IS 'How: inbox, unsubscribe link, sendgrid; else the role of the session that wrote it. Null: before this column.';
COMMENT ON COLUMN user_category_preferences.changed_at IS 'When enabled was last changed. Null: before this column.';
COMMENT ON COLUMN user_category_preferences.changed_by IS 'How: inbox, unsubscribe link, sendgrid; else the role of the session that wrote it. Null: before this column.';

-- +goose StatementBegin
CREATE FUNCTION record_consent() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.enabled IS DISTINCT FROM OLD.enabled THEN
        NEW.changed_at := now();
        NEW.changed_by := coalesce(nullif(current_setting('herald.changed_by', true), ''), session_user);
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER user_notification_preferences_consent
    BEFORE INSERT OR UPDATE ON user_notification_preferences
    FOR EACH ROW EXECUTE FUNCTION record_consent();
CREATE TRIGGER user_category_preferences_consent
    BEFORE INSERT OR UPDATE ON user_category_preferences
    FOR EACH ROW EXECUTE FUNCTION record_consent();

-- The English words of digests came with Herald. An INSERT of the same key takes their place; an UPDATE makes them yours.
ALTER TABLE notification_template ADD COLUMN shipped boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN notification_template.shipped IS 'true: the row came with Herald, and nobody has changed it. An INSERT of the same key replaces it.';
UPDATE notification_template
SET    shipped = true
WHERE  event_type = 'digest'
AND    locale = 'en'
AND    md5(channel || title || body) IN ('ce0166c35f306954b666a680143acd9b', '2ac46662460066775a4bb779a70f0cfe');

-- +goose StatementBegin
CREATE FUNCTION replace_shipped_template() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.shipped := false;
    ELSE
        DELETE FROM notification_template t
        WHERE  (t.event_type, t.channel, t.locale) = (NEW.event_type, NEW.channel, NEW.locale)
        AND    t.shipped;
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER notification_template_shipped
    BEFORE INSERT OR UPDATE ON notification_template
    FOR EACH ROW EXECUTE FUNCTION replace_shipped_template();

COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: every one. The name digest is for the text of digests, REVIEW_POSTED.digest for those of one event type.';

-- A producer reads in the error which column it left out. event_outbox_complete holds for all rows already, so these do too.
ALTER TABLE event_outbox
    ADD CONSTRAINT event_outbox_aggregate_type_given CHECK (source <> 'herald' OR aggregate_type IS NOT NULL) NOT VALID,
    ADD CONSTRAINT event_outbox_aggregate_id_given CHECK (source <> 'herald' OR aggregate_id IS NOT NULL) NOT VALID,
    ADD CONSTRAINT event_outbox_payload_given CHECK (source <> 'herald' OR payload IS NOT NULL) NOT VALID,
    DROP CONSTRAINT event_outbox_complete;

-- +goose Down
ALTER TABLE event_outbox
    ADD CONSTRAINT event_outbox_complete CHECK (source <> 'herald' OR (aggregate_type IS NOT NULL AND aggregate_id IS NOT NULL AND payload IS NOT NULL)) NOT VALID,
    DROP CONSTRAINT event_outbox_payload_given,
    DROP CONSTRAINT event_outbox_aggregate_id_given,
    DROP CONSTRAINT event_outbox_aggregate_type_given;
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: every one. The name digest is for the text of digests.';
DROP TRIGGER notification_template_shipped ON notification_template;
DROP FUNCTION replace_shipped_template;
ALTER TABLE notification_template DROP COLUMN shipped;
DROP TRIGGER user_category_preferences_consent ON user_category_preferences;
DROP TRIGGER user_notification_preferences_consent ON user_notification_preferences;
DROP FUNCTION record_consent;
ALTER TABLE user_category_preferences
    DROP COLUMN changed_by,
    DROP COLUMN changed_at;
ALTER TABLE user_notification_preferences
    DROP COLUMN changed_by,
    DROP COLUMN changed_at;
