-- Comments in plain English. docs/reference.md is made of them.
-- +goose Up
COMMENT ON TABLE event_type_recipients IS 'Who is told of an event type. Each row names a group or a person; a recipient of several rows is told once. For an event type without a row the aggregate decides: RESTAURANT, its active members; AGENCY, its members with the role AGENT or MANAGER; CUSTOMER, that customer; ADMIN, all active admins; BROADCAST, all active recipients.';
COMMENT ON COLUMN entity_notification_settings.entity_type IS 'As in entity_member; CUSTOMER for all customers, ADMIN and BROADCAST for the recipients of such aggregates.';
COMMENT ON COLUMN entity_notification_settings.event_type IS 'The event type that the row is for. Null: every event type without a separate row.';
COMMENT ON COLUMN entity_notification_settings.max_recipients IS 'How many of the group are told of one event over the channel: MANAGER first, then by user_id. Recipients that another rule excludes do not count. 0: nobody. Null: any number. Where the event type is mandatory, it is ignored.';
COMMENT ON COLUMN user_type.who IS 'The word for the type in delivery ids, evt-1-staff10-EMAIL, and in the workflow ids of digests. No word may begin with the word of another type.';
COMMENT ON COLUMN notification_template.event_type IS 'The event type; *: every one. The name digest is for the text of digests, REVIEW_POSTED.digest for digests of one event type.';
COMMENT ON COLUMN notification.recipient_address IS 'Address, number or webhook of the last attempt; before the first attempt, of the planning. Null: the channel has no addresses (WEBSOCKET, PUSH).';
COMMENT ON COLUMN notification.attempt_count IS 'Attempts that were begun, including the attempt under way and the attempts of its digest.';
COMMENT ON COLUMN notification.escalates IS 'true: at planning it matched a row of event_type_escalation, and a workflow Escalate waits next to its delivery.';
COMMENT ON TABLE delivery_attempt IS 'One attempt to hand a delivery to its provider, written when the attempt has ended. An attempt under way is in notification.';
COMMENT ON TABLE operator_action IS 'Who changed what through starter. Changes in Temporal''s own Web UI are in its histories alone.';
COMMENT ON COLUMN operator_action.actor IS 'HERALD_ACTOR, else user@host: the name that the actor gives. db_user is the name that the database knows.';
COMMENT ON COLUMN sweep.after_event IS 'The event at which the next sweep continues; empty: from the beginning.';
COMMENT ON COLUMN sweep.after_notification IS 'The notification.id at which the next sweep continues; 0: from the beginning.';
COMMENT ON COLUMN sweep.after_waiting_event IS 'The event at which the next sweep continues among events that wait by design; empty: from the beginning.';

-- +goose StatementBegin
DO $$
DECLARE
    said record;
BEGIN
    FOR said IN
        SELECT v.relname, a.attname, col_description(a.attrelid, a.attnum) AS text
        FROM   pg_class v
        JOIN   pg_attribute a ON a.attrelid = 'notification'::regclass
                             AND a.attname IN ('recipient_address', 'attempt_count', 'escalates')
        JOIN   pg_attribute seen ON seen.attrelid = v.oid AND seen.attname = a.attname
        WHERE  v.oid IN ('restaurant_notification'::regclass, 'customer_notification'::regclass, 'agency_notification'::regclass,
                         'admin_notification'::regclass, 'guest_notification'::regclass, 'notification_state'::regclass)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', said.relname, said.attname, said.text);
    END LOOP;
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass('recipient')) IN ('r', 'p') THEN
        COMMENT ON COLUMN recipient.user_id IS 'Your id of the person, one of its kind within the type: 1 to 64 bytes, printable. It is in workflow ids and logs, so use no address. Where recipients are ordered, numbers are compared as numbers.';
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- The words stay: they hold for the version before, too.
SELECT 1;
