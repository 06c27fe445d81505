-- What people follow and mute, the names of what they follow, and through which role a delivery reached its recipient.
-- +goose Up
CREATE TABLE entity_follow (
    user_type   text,
    user_id     text,
    entity_type text,
    entity_id   text,
    level       text DEFAULT 'ALL' NOT NULL,
    created_at  timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT entity_follow_pkey PRIMARY KEY (user_type, user_id, entity_type, entity_id),
    CONSTRAINT entity_follow_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT entity_follow_user_id CHECK (octet_length(user_id) BETWEEN 1 AND 64 AND user_id !~ '[[:cntrl:]]'),
    CONSTRAINT entity_follow_entity_type CHECK (octet_length(entity_type) BETWEEN 1 AND 60 AND entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')),
    CONSTRAINT entity_follow_entity_id CHECK (octet_length(entity_id) BETWEEN 1 AND 64),
    CONSTRAINT entity_follow_level CHECK (level IN ('ALL', 'IMPORTANT'))
);

COMMENT ON TABLE entity_follow IS 'Who follows what. A follower counts as a member of the entity with the role FOLLOWER, where event_type_recipients.roles names FOLLOWER.';
COMMENT ON COLUMN entity_follow.user_type IS 'Type of the follower.';
COMMENT ON COLUMN entity_follow.user_id IS 'Id of the follower.';
COMMENT ON COLUMN entity_follow.entity_type IS 'Kind of entity, as in event_type_recipients: RESTAURANT, ORDER. Not CUSTOMER, ADMIN or BROADCAST.';
COMMENT ON COLUMN entity_follow.entity_id IS 'Your id of the entity, compared as text; up to 64 bytes.';
COMMENT ON COLUMN entity_follow.level IS 'ALL: everything that followers hear. IMPORTANT: only what is mandatory, or has the priority HIGH.';
COMMENT ON COLUMN entity_follow.created_at IS 'When the person began to follow.';

-- For pages of followers. The entity is two expressions, so that a look-up of one follower always takes the primary key.
CREATE INDEX entity_follow_in_order ON entity_follow ((entity_type || ''), (entity_id || ''), (CASE WHEN user_id ~ '^[0-9]{1,18}$' THEN user_id::bigint ELSE '9223372036854775807'::bigint END), user_id, user_type);

CREATE TABLE entity_mute (
    user_type   text,
    user_id     text,
    entity_type text,
    entity_id   text,
    created_at  timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT entity_mute_pkey PRIMARY KEY (user_type, user_id, entity_type, entity_id),
    CONSTRAINT entity_mute_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT entity_mute_user_id CHECK (octet_length(user_id) BETWEEN 1 AND 64 AND user_id !~ '[[:cntrl:]]'),
    CONSTRAINT entity_mute_entity_type CHECK (octet_length(entity_type) BETWEEN 1 AND 60 AND entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')),
    CONSTRAINT entity_mute_entity_id CHECK (octet_length(entity_id) BETWEEN 1 AND 64)
);

COMMENT ON TABLE entity_mute IS 'Who has muted what. Nothing reaches the person through the entity (MUTED), except what is mandatory.';
COMMENT ON COLUMN entity_mute.user_type IS 'Type of the person.';
COMMENT ON COLUMN entity_mute.user_id IS 'Id of the person.';
COMMENT ON COLUMN entity_mute.entity_type IS 'Kind of entity: RESTAURANT, ORDER. Not CUSTOMER, ADMIN or BROADCAST.';
COMMENT ON COLUMN entity_mute.entity_id IS 'Your id of the entity, compared as text; up to 64 bytes.';
COMMENT ON COLUMN entity_mute.created_at IS 'When the person muted it.';

CREATE TABLE entity_name (
    entity_type text,
    entity_id   text,
    name        text NOT NULL,
    CONSTRAINT entity_name_pkey PRIMARY KEY (entity_type, entity_id),
    CONSTRAINT entity_name_length CHECK (octet_length(name) BETWEEN 1 AND 200 AND name !~ '[[:cntrl:]]')
);

COMMENT ON TABLE entity_name IS 'What people call an entity: Trattoria instead of restaurant 5. Optional; it may be a view of your tables.';
COMMENT ON COLUMN entity_name.entity_type IS 'Kind of entity.';
COMMENT ON COLUMN entity_name.entity_id IS 'Your id of the entity.';
COMMENT ON COLUMN entity_name.name IS 'The name, for everybody who hears of the entity: for {{.reason}}, and where people mute or follow.';

COMMENT ON COLUMN event_type_recipients.roles IS 'Only members with one of these roles. Null: any role. Empty: nobody. FOLLOWER tells everybody who chooses to follow the entity, which any signed-in person may do. CUSTOMER, ADMIN and BROADCAST ignore it.';

ALTER TABLE notification ADD COLUMN member_role text;

COMMENT ON COLUMN notification.member_role IS 'The role in the entity through which the event named the recipient: MANAGER, FOLLOWER. Null: the entity is the recipient, or has no roles.';

-- The views of each user type show the new column too.
CREATE OR REPLACE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE OR REPLACE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE OR REPLACE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE OR REPLACE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE OR REPLACE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';

-- +goose StatementBegin
DO $$
DECLARE
    view text;
BEGIN
    FOREACH view IN ARRAY ARRAY ['restaurant_notification', 'customer_notification', 'agency_notification', 'admin_notification', 'guest_notification'] LOOP
        EXECUTE format('COMMENT ON COLUMN %I.member_role IS %L', view,
            col_description('notification'::regclass, (SELECT attnum FROM pg_attribute WHERE attrelid = 'notification'::regclass AND attname = 'member_role')));
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- A view cannot lose a column.
DROP VIEW restaurant_notification;
DROP VIEW customer_notification;
DROP VIEW agency_notification;
DROP VIEW admin_notification;
DROP VIEW guest_notification;
ALTER TABLE notification DROP COLUMN member_role;
CREATE VIEW restaurant_notification AS SELECT * FROM notification WHERE user_type = 'RESTAURANT_USER';
CREATE VIEW customer_notification AS SELECT * FROM notification WHERE user_type = 'CUSTOMER';
CREATE VIEW agency_notification AS SELECT * FROM notification WHERE user_type = 'AGENCY_USER';
CREATE VIEW admin_notification AS SELECT * FROM notification WHERE user_type = 'ADMIN';
CREATE VIEW guest_notification AS SELECT * FROM notification WHERE user_type = 'GUEST';
COMMENT ON VIEW restaurant_notification IS 'The rows of notification for RESTAURANT_USER.';
COMMENT ON VIEW customer_notification IS 'The rows of notification for CUSTOMER.';
COMMENT ON VIEW agency_notification IS 'The rows of notification for AGENCY_USER.';
COMMENT ON VIEW admin_notification IS 'The rows of notification for ADMIN.';
COMMENT ON VIEW guest_notification IS 'The rows of notification for GUEST.';

-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.attrelid::regclass AS view, v.attname, col_description(n.attrelid, n.attnum) AS text
        FROM   pg_attribute v
        JOIN   pg_attribute n ON n.attrelid = 'notification'::regclass AND n.attname = v.attname
        WHERE  v.attrelid = ANY (ARRAY ['restaurant_notification', 'customer_notification', 'agency_notification', 'admin_notification', 'guest_notification']::regclass[])
        AND    v.attnum > 0
    LOOP
        EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', said.view, said.attname, said.text);
    END LOOP;
END
$$;
-- +goose StatementEnd
COMMENT ON COLUMN event_type_recipients.roles IS 'Only members with one of these roles. Null: any role. Empty: nobody. CUSTOMER, ADMIN and BROADCAST ignore it.';

-- It may be a view.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('DROP %s entity_name', (SELECT CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END FROM pg_class WHERE oid = 'entity_name'::regclass));
END
$$;
-- +goose StatementEnd
DROP TABLE entity_mute;
DROP TABLE entity_follow;
