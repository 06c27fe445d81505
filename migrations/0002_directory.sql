-- The people, their devices, and the groups that they belong to.
-- +goose Up
CREATE TABLE user_type (
    user_type text,
    who       text NOT NULL,
    audience  text NOT NULL,
    CONSTRAINT user_type_pkey PRIMARY KEY (user_type),
    CONSTRAINT user_type_who_once UNIQUE (who),
    CONSTRAINT user_type_audience CHECK (audience ~ '^[a-z][a-z0-9-]{0,29}$'),
    CONSTRAINT user_type_audience_free CHECK (audience NOT IN ('all', 'broadcast', 'dead-letter', 'websocket')),
    CONSTRAINT user_type_name CHECK (user_type ~ '^[A-Z][A-Z0-9_]{0,29}$'),
    CONSTRAINT user_type_who CHECK (who ~ '^[a-z]{1,12}$')
);

COMMENT ON TABLE user_type IS 'The types of recipients.';
COMMENT ON COLUMN user_type.user_type IS 'What the other tables call the type: RESTAURANT_USER, PATIENT.';
COMMENT ON COLUMN user_type.who IS 'The word for the type in delivery ids, evt-1-staff10-EMAIL, and in the workflow ids of digests. No word may begin with the word of another type.';
COMMENT ON COLUMN user_type.audience IS 'The last word of the queues that concern the type: notification.restaurant, notification.websocket.restaurant. Several types may share it. GUEST has no queue of the first kind.';

INSERT INTO user_type (user_type, who, audience) VALUES
    ('RESTAURANT_USER', 'staff', 'restaurant'),
    ('CUSTOMER', 'customer', 'customer'),
    ('AGENCY_USER', 'agent', 'agency'),
    ('ADMIN', 'admin', 'admin'),
    ('GUEST', 'guest', 'guest');

CREATE TABLE recipient (
    user_type         text,
    user_id           text,
    name              text DEFAULT '' NOT NULL,
    email             text,
    phone             text,
    slack_webhook_url text,
    locale            text DEFAULT 'en' NOT NULL,
    timezone          text DEFAULT 'UTC' NOT NULL,
    active            boolean DEFAULT true NOT NULL,
    webhook_url       text,
    CONSTRAINT recipient_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT recipient_user_type FOREIGN KEY (user_type) REFERENCES user_type,
    CONSTRAINT recipient_user_id_length CHECK (octet_length(user_id) BETWEEN 1 AND 64),
    CONSTRAINT recipient_user_id_printable CHECK (user_id !~ '[[:cntrl:]]')
);

COMMENT ON TABLE recipient IS 'The recipients and their addresses. It may be a view of your tables: Herald only reads it.';
COMMENT ON COLUMN recipient.user_type IS 'A row of user_type, such as CUSTOMER. With user_id, the key.';
COMMENT ON COLUMN recipient.user_id IS 'Your id of the person, unique within the type: 1 to 64 bytes, printable. It is in workflow ids and logs, so use no address. Herald orders numbers as numbers.';
COMMENT ON COLUMN recipient.name IS 'For templates: .recipient.name.';
COMMENT ON COLUMN recipient.email IS 'Address for EMAIL; spaces around it and letters of any language in the domain are fine. Null or blank: decision NO_ADDRESS.';
COMMENT ON COLUMN recipient.phone IS 'Number for SMS with its country code, such as +41791234567 or +41 79 123 45 67, but not +41 (0)79. Null or blank: no SMS.';
COMMENT ON COLUMN recipient.slack_webhook_url IS 'Incoming webhook for SLACK, at one of SLACK_ALLOWED_HOSTS; a secret. Null or empty: no Slack.';
COMMENT ON COLUMN recipient.locale IS 'Language of the texts: it, it-CH, zh-Hant-TW. Herald drops the last part until it finds a template: zh-Hant, zh. Then it takes en.';
COMMENT ON COLUMN recipient.timezone IS 'IANA time zone for quiet hours, such as Europe/Rome. An unknown one counts as UTC; `starter check` names it.';
COMMENT ON COLUMN recipient.active IS 'false: the recipient gets nothing, not even a waiting delivery.';
COMMENT ON COLUMN recipient.webhook_url IS 'URL for WEBHOOK, at one of WEBHOOK_ALLOWED_HOSTS; a secret. Null or empty: no webhook.';

CREATE INDEX recipient_in_order ON recipient (user_type, (CASE WHEN user_id ~ '^[0-9]{1,18}$' THEN user_id::bigint ELSE '9223372036854775807'::bigint END), user_id)
    WHERE active;

CREATE TABLE recipient_device (
    user_type     text,
    user_id       text,
    token         text,
    active        boolean DEFAULT true NOT NULL,
    registered_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT recipient_device_pkey PRIMARY KEY (user_type, user_id, token),
    CONSTRAINT recipient_device_of_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient ON DELETE CASCADE,
    CONSTRAINT recipient_device_token_length CHECK (octet_length(token) BETWEEN 1 AND 1024)
);

COMMENT ON TABLE recipient_device IS 'The devices of recipients. PUSH sends one message to each active device, and is SENT when one device took it. It may be a view whose column active can be updated.';
COMMENT ON COLUMN recipient_device.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN recipient_device.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN recipient_device.token IS 'Registration token of Firebase Cloud Messaging, or the JSON of a browser''s PushSubscription, which begins with {. Up to 1,024 bytes; a secret.';
COMMENT ON COLUMN recipient_device.active IS 'false: the device gets nothing. Herald sets it when Firebase or the browser''s push service calls the token dead, and changes nothing else in the directory.';
COMMENT ON COLUMN recipient_device.registered_at IS 'When the device was last registered. A push goes to the 50 newest devices. A view may leave it out.';

CREATE INDEX recipient_device_token ON recipient_device (token);

CREATE TABLE entity_member (
    entity_type text,
    entity_id   text,
    user_type   text,
    user_id     text,
    role        text NOT NULL,
    active      boolean DEFAULT true NOT NULL,
    CONSTRAINT entity_member_pkey PRIMARY KEY (entity_type, entity_id, user_type, user_id),
    CONSTRAINT entity_member_is_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient ON DELETE CASCADE
);

COMMENT ON TABLE entity_member IS 'The members of groups: of restaurant 5, of agency 7. It may be a view of your tables: Herald only reads it.';
COMMENT ON COLUMN entity_member.entity_type IS 'Kind of group: any word except CUSTOMER, ADMIN and BROADCAST, which have no members here.';
COMMENT ON COLUMN entity_member.entity_id IS 'Your id of the group, compared as text; up to 64 bytes.';
COMMENT ON COLUMN entity_member.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN entity_member.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN entity_member.role IS 'Any word. roles and allowed_roles compare it as text. MANAGER comes first under max_recipients.';
COMMENT ON COLUMN entity_member.active IS 'false: not a member.';

CREATE INDEX entity_member_in_order ON entity_member (entity_type, entity_id, (CASE role WHEN 'MANAGER' THEN 0 ELSE 1 END), (CASE WHEN user_id ~ '^[0-9]{1,18}$' THEN user_id::bigint ELSE '9223372036854775807'::bigint END), user_id, user_type)
    WHERE active;
CREATE INDEX entity_member_user ON entity_member (user_type, user_id);

CREATE TABLE erased_recipient (
    user_type text,
    user_id   text,
    erased_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT erased_recipient_pkey PRIMARY KEY (user_type, user_id)
);

COMMENT ON TABLE erased_recipient IS 'People who were erased. Herald never tells them anything again, whatever the directory says. `starter recipient erase` writes it first.';
COMMENT ON COLUMN erased_recipient.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN erased_recipient.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN erased_recipient.erased_at IS 'When the first run began.';

CREATE TABLE merged_recipient (
    user_type    text,
    user_id      text,
    to_user_type text NOT NULL,
    to_user_id   text NOT NULL,
    merged_at    timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT merged_recipient_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT merged_recipient_differs CHECK ((user_type, user_id) <> (to_user_type, to_user_id))
);

COMMENT ON TABLE merged_recipient IS 'People who were merged into another person. What they click, choose or sign in with counts for that person. `starter recipient merge` writes it; an erasure of the other person deletes the row.';
COMMENT ON COLUMN merged_recipient.user_type IS 'Type of the recipient.';
COMMENT ON COLUMN merged_recipient.user_id IS 'Id of the recipient.';
COMMENT ON COLUMN merged_recipient.to_user_type IS 'Type of the other person, who has no row here: a later merge of that person changes this row.';
COMMENT ON COLUMN merged_recipient.to_user_id IS 'Id of the other person.';
COMMENT ON COLUMN merged_recipient.merged_at IS 'When the first run of the merge began.';

CREATE INDEX merged_recipient_to ON merged_recipient (to_user_type, to_user_id);

-- +goose Down
DROP TABLE merged_recipient;
DROP TABLE erased_recipient;
DROP TABLE entity_member;
DROP TABLE recipient_device;
DROP TABLE recipient;
DROP TABLE user_type;
