-- +goose Up
-- The types of people that there are. One more is one more row here, while workers run.
CREATE TABLE user_type (
    user_type text PRIMARY KEY,
    who       text NOT NULL,
    audience  text NOT NULL,

    CONSTRAINT user_type_name CHECK (user_type ~ '^[A-Z][A-Z0-9_]{0,29}$'),
    CONSTRAINT user_type_who_once UNIQUE (who),
    -- Only letters, since the user id follows. The longest delivery id has 239 bytes, which leaves 16 of 255 for ~ and a notification.id.
    CONSTRAINT user_type_who CHECK (who ~ '^[a-z]{1,12}$'),
    CONSTRAINT user_type_audience CHECK (audience ~ '^[a-z][a-z0-9-]{0,29}$'),
    -- These queues have another meaning: notification.broadcast, notification.dead-letter, notification.websocket.all.
    CONSTRAINT user_type_audience_free CHECK (audience NOT IN ('all', 'broadcast', 'dead-letter', 'websocket'))
);

COMMENT ON TABLE user_type IS 'The types of people that there are. A row can be added at any time; once somebody of the type was notified, it cannot be changed or deleted.';
COMMENT ON COLUMN user_type.user_type IS 'What the other tables call the type: RESTAURANT_USER, PATIENT.';
COMMENT ON COLUMN user_type.who IS 'The word for the type in delivery ids, evt-1-staff10-EMAIL, and in the workflow ids of digests. No word may begin with that of another type.';
COMMENT ON COLUMN user_type.audience IS 'The last word of the queues that concern the type: notification.restaurant, notification.websocket.restaurant. Several types may share it. GUEST has no queue of the first kind.';

INSERT INTO user_type (user_type, who, audience)
VALUES ('RESTAURANT_USER', 'staff', 'restaurant'), ('CUSTOMER', 'customer', 'customer'), ('AGENCY_USER', 'agent', 'agency'), ('ADMIN', 'admin', 'admin'), ('GUEST', 'guest', 'guest');

-- The ids of deliveries and digests hold the word, so it stays what it is once there are some. With nurse and nurseaid, nurseaid1 would be
-- two people: the lock lets two transactions that add types see each other's.
-- +goose StatementBegin
CREATE FUNCTION check_user_type() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    other user_type;
BEGIN
    IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW IS DISTINCT FROM OLD)
        AND EXISTS (SELECT FROM notification WHERE user_type = OLD.user_type) THEN
        RAISE EXCEPTION 'user type % is in use: there are notifications to people of this type, whose ids hold the word %', OLD.user_type, OLD.who
            USING ERRCODE = 'restrict_violation', HINT = 'Add another user type instead.';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.user_type'));
    SELECT * INTO other
    FROM   user_type u
    WHERE  u.user_type <> NEW.user_type
    AND    (starts_with(u.who, NEW.who) OR starts_with(NEW.who, u.who));
    IF FOUND THEN
        RAISE EXCEPTION 'who % is too like % of user type %: one begins with the other, so that ids could not be told apart', NEW.who, other.who, other.user_type
            USING ERRCODE = 'check_violation', HINT = 'Choose a word that differs earlier.';
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER user_type_check
    AFTER INSERT OR UPDATE OR DELETE ON user_type
    FOR EACH ROW EXECUTE FUNCTION check_user_type();

-- The tables are in the order in which a plan reads them. NOT VALID holds from now on, and reads no row: the next migration does.
-- Where the directory is views, starter check finds what no key can refuse.
ALTER TABLE event_type_recipients
    DROP CONSTRAINT event_type_recipients_user_type,
    ADD CONSTRAINT event_type_recipients_user_type FOREIGN KEY (user_type) REFERENCES user_type NOT VALID;
ALTER TABLE channel_user_type
    DROP CONSTRAINT channel_user_type_user_type,
    ADD CONSTRAINT channel_user_type_user_type FOREIGN KEY (user_type) REFERENCES user_type NOT VALID;
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) = 'r' THEN
        ALTER TABLE recipient DROP CONSTRAINT IF EXISTS recipient_user_type;
        ALTER TABLE recipient ADD CONSTRAINT recipient_user_type FOREIGN KEY (user_type) REFERENCES user_type NOT VALID;
    END IF;
END;
$$;
-- +goose StatementEnd
ALTER TABLE user_notification_preferences
    ADD CONSTRAINT user_notification_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type NOT VALID;

-- Deliveries have the user types of the tables that planning reads, which have foreign keys or are checked by it. A key of their own would lock
-- the row of a user type for each of them, as measured for channels.
ALTER TABLE notification DROP CONSTRAINT notification_user_type;

-- +goose Down
ALTER TABLE notification
    ADD CONSTRAINT notification_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')) NOT VALID;
ALTER TABLE event_type_recipients
    DROP CONSTRAINT event_type_recipients_user_type,
    ADD CONSTRAINT event_type_recipients_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')) NOT VALID;
ALTER TABLE channel_user_type
    DROP CONSTRAINT channel_user_type_user_type,
    ADD CONSTRAINT channel_user_type_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')) NOT VALID;
-- +goose StatementBegin
DO $$
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) = 'r' THEN
        ALTER TABLE recipient DROP CONSTRAINT IF EXISTS recipient_user_type;
        ALTER TABLE recipient ADD CONSTRAINT recipient_user_type CHECK (user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')) NOT VALID;
    END IF;
END;
$$;
-- +goose StatementEnd
ALTER TABLE user_notification_preferences DROP CONSTRAINT user_notification_preferences_user_type;
DROP TABLE user_type;
DROP FUNCTION check_user_type();
