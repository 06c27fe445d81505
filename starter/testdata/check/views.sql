-- Views over an application's own tables, with rows that Herald cannot use.
ALTER TABLE recipient_device DROP CONSTRAINT IF EXISTS recipient_device_of_recipient;
ALTER TABLE entity_member DROP CONSTRAINT IF EXISTS entity_member_is_recipient;
ALTER TABLE recipient RENAME TO person;
ALTER TABLE recipient_device RENAME TO device;
ALTER TABLE entity_member RENAME TO membership;
CREATE VIEW recipient AS
SELECT user_type, user_id, (1 / (length(name) - length(name)))::text AS name, email, phone, slack_webhook_url, locale, timezone, active FROM person
UNION ALL
SELECT user_type, user_id, 'Ada', '', '', '', 'en', timezone, true
FROM  (VALUES (NULL, '1', 'UTC'), ('CUSTOMER', NULL, 'UTC'), ('CUSTOMER', '', 'UTC'), ('CUSTOMER', repeat('x', 65), 'UTC'), ('CUSTOMER', E'a\tb', 'UTC'),
              ('CUSTOMER', '42', 'UTC'), ('DOCTOR', 'd1', 'UTC'), ('a doctor', 'd2', 'UTC'), ('CUSTOMER', '4242', 'ada@example.com')) AS added (user_type, user_id, timezone)
UNION ALL
SELECT 'TYPE' || n, 'u' || n, 'Ada', '', '', '', 'en', 'UTC', true FROM generate_series(10, 22) n;
CREATE VIEW recipient_device AS SELECT * FROM device UNION ALL SELECT (json_populate_record(NULL::device, '{"user_type": "DOCTOR"}')).*;
CREATE VIEW entity_member AS SELECT * FROM membership;
INSERT INTO membership
VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', 'ghost1', 'MANAGER'), ('RESTAURANT', '6', 'RESTAURANT_USER', 'ghost2', 'MANAGER'), ('CLINIC', '1', 'DOCTOR', 'd1', 'MANAGER');
