-- Views that lack columns, or have columns of other types.
DROP TABLE recipient_device;
ALTER TABLE entity_member DROP CONSTRAINT IF EXISTS entity_member_is_recipient;
ALTER TABLE recipient RENAME TO person;
ALTER TABLE entity_member RENAME TO membership;
CREATE VIEW recipient AS SELECT user_type, name, email, phone, slack_webhook_url, locale, now() AS active FROM person;
CREATE VIEW entity_member AS SELECT entity_type, entity_id, user_type, user_id, user_id || '?' AS active FROM membership;
