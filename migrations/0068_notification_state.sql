-- +goose Up
-- What a gateway reads and changes of deliveries over any channel. docs/roles.md lets its role read the texts of WEBSOCKET
-- alone, by row-level security on notification, and all others by this view, which has no text and no address.
CREATE VIEW notification_state AS
SELECT id, event_id, event_type, user_type, user_id, channel, delivery_id, digest_id, status, attempt_count, created_at,
       available_at, sent_at, delivered_at, read_at, provider_message_id, receipt_failed, escalates, last_error
FROM   notification;

COMMENT ON VIEW notification_state IS 'notification without titles, texts and addresses: what a gateway reads and changes of deliveries over other channels.';

-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.attname, col_description('notification'::regclass, n.attnum) AS text
        FROM   pg_attribute v
        JOIN   pg_attribute n ON n.attrelid = 'notification'::regclass AND n.attname = v.attname
        WHERE  v.attrelid = 'notification_state'::regclass
        AND    v.attnum > 0
    LOOP
        EXECUTE format('COMMENT ON COLUMN notification_state.%I IS %L', said.attname, said.text);
    END LOOP;
END;
$$;
-- +goose StatementEnd

-- Who did what: the database knows the role of the session, whatever HERALD_ACTOR says. Rows from before keep null.
ALTER TABLE operator_action ADD COLUMN db_user text;
ALTER TABLE operator_action ALTER COLUMN db_user SET DEFAULT session_user;
COMMENT ON COLUMN operator_action.db_user IS 'The role that was logged in to the database. Null: the row is from before this column.';
COMMENT ON COLUMN operator_action.actor IS 'HERALD_ACTOR, else user@host: what the actor says of themselves. db_user is what the database knows.';

-- +goose Down
ALTER TABLE operator_action DROP COLUMN db_user;
COMMENT ON COLUMN operator_action.actor IS 'HERALD_ACTOR, else user@host.';
DROP VIEW notification_state;
