package dialects_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/relay"
)

// deliver inserts a delivery of evt-1 with a text and an address.
const deliver = `
	INSERT INTO notification (event_id, event_type, correlation_id, user_type, user_id, channel, delivery_id, title, body, recipient_address,
	       status, last_error)
	VALUES ('evt-1', 'T', 'c-1', 'CUSTOMER', '%', 'EMAIL', 'd%', 'secret title', 'secret body', 'ada@secret.example', `

// newLifecycle returns Herald's database.
func newLifecycle(t *testing.T) service {
	return newService(t, relay.Lifecycle(""), "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, "+
		"correlation_id) VALUES ('evt-1', 'T', 'CUSTOMER', '1', '{}', 'c-1')")
}

// written returns the types of the rows with their delivery, user and reason, in order.
// Then it deletes the rows.
func (s service) written(t *testing.T) string {
	t.Helper()
	return s.text(t, `
		WITH gone AS (DELETE FROM lifecycle_event RETURNING *)
		SELECT coalesce(string_agg(concat_ws(' ', event_type, payload #>> '{data,delivery_id}', payload #>> '{data,user_id}',
		       payload #>> '{data,reason}', payload #>> '{data,outcome}'), ', ' ORDER BY id), '')
		FROM   gone
		WHERE  payload ->> 'type' = event_type AND correlation_id = 'c-1' AND payload #>> '{data,event_id}' = 'evt-1'
		       AND payload::text !~ 'secret'`)
}

// Triggers write each change of a status, in the transaction that makes the change. Without them
// nothing is written.
func TestLifecycle(t *testing.T) {
	t.Parallel()

	s := newLifecycle(t)
	s.exec(t, strings.ReplaceAll(deliver, "%", "1")+"'PENDING', NULL)")
	require.Empty(t, s.written(t))
	table := s.table(t)
	found := missing(t, table)
	require.Len(t, found, 5)
	require.Equal(t, "there is no index on sent, id", found[0].What)
	require.Equal(t, "there is no trigger on notification", found[1].What)
	require.Contains(t, found[1].Remedy, "starter source migrate lifecycle")
	migrate(t, table)
	require.Empty(t, missing(t, table))

	decide := `INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('evt-1', 'CUSTOMER', '7', '{"SMS": "SUPPRESSED", "PUSH": "SUPPRESSED", "EMAIL": "SELECTED"}')`
	finish := `INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', '%', 'PROBLEM') ON CONFLICT (event_id) DO UPDATE
		SET status = excluded.status`
	for _, step := range []struct {
		do   string
		want string
	}{
		{strings.ReplaceAll(deliver, "%", "2") + "'PENDING', NULL)", "delivery.planned d2 2"},
		{strings.ReplaceAll(deliver, "%", "3") + "'FAILED', 'no template')", "delivery.failed d3 3 no template"},
		{strings.ReplaceAll(deliver, "%", "4~") + "'FAILED', 'id taken')", ""},
		{"UPDATE notification SET delivery_id = delivery_id || '9' WHERE delivery_id = 'd4~'", "delivery.failed d4~9 4~ id taken"},
		{"UPDATE notification SET attempt_owner = 'o', attempt_until = now(), attempt_began = now()", ""},
		{"UPDATE notification SET status = status, last_error = 'refused: 503' WHERE user_id = '2'", ""},
		{"UPDATE notification SET status = 'SENT', sent_at = now() WHERE user_id = '2'", "delivery.sent d2 2"},
		{"UPDATE notification_state SET status = 'DELIVERED', delivered_at = now(), read_at = now() WHERE user_id = '2'",
			"delivery.delivered d2 2, delivery.read d2 2"},
		{"UPDATE notification SET status = 'FAILED', last_error = 'bounced', read_at = now() WHERE user_id = '2'",
			"delivery.failed d2 2 bounced"},
		{"UPDATE notification SET status = 'PENDING' WHERE user_id = '2'", "delivery.planned d2 2"},
		{"UPDATE notification SET status = 'CANCELLED', last_error = 'QUIET_HOURS' WHERE user_id = '1'", "delivery.cancelled d1 1 QUIET_HOURS"},
		{"UPDATE notification SET status = 'CANCELLED', last_error = 'SUPPRESSED' WHERE user_id = '2'", "delivery.suppressed d2 2 SUPPRESSED"},
		{decide, "delivery.suppressed 7 SUPPRESSED, delivery.suppressed 7 SUPPRESSED"},
		{`UPDATE notification_decision SET channels = channels || '{"SLACK": "SUPPRESSED"}'`, "delivery.suppressed 7 SUPPRESSED"},
		{strings.ReplaceAll(finish, "%", "PROCESSING"), ""},
		{strings.ReplaceAll(finish, "%", "SUCCESS"), "event.finished PROBLEM"},
		{strings.ReplaceAll(finish, "%", "SUCCESS"), ""},
	} {
		s.exec(t, step.do)
		require.Equal(t, step.want, s.written(t), step.do)
		s.exec(t, "BEGIN; UPDATE notification SET status = 'FAILED', last_error = 'x'; ROLLBACK")
		require.Empty(t, s.written(t))
	}
}

// A role without rights on the table writes rows by changing a delivery. It cannot redirect the rows into
// a temporary table, whose triggers would run as the table's owner.
func TestLifecycleForARoleWithoutRights(t *testing.T) {
	t.Parallel()

	s := newLifecycle(t)
	s.migrated(t)
	role := "lifecycle_" + strings.ToLower(rand.Text()[:8])
	s.exec(t, "CREATE ROLE "+role)
	t.Cleanup(func() { _, _ = s.conn.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	s.exec(t, "GRANT SELECT, INSERT ON notification TO "+role)
	s.exec(t, "SET ROLE "+role)
	s.exec(t, "CREATE TEMPORARY TABLE lifecycle_event (event_type text, payload json, correlation_id text)")
	s.exec(t, strings.ReplaceAll(deliver, "%", "1")+"'PENDING', NULL)")
	_, err := s.conn.Exec(t.Context(),
		"CREATE TEMPORARY TABLE mine (LIKE notification); CREATE TRIGGER forged AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION "+
			"write_delivery_lifecycle()")
	require.ErrorContains(t, err, "permission denied for function")
	s.exec(t, "RESET ROLE; DROP TABLE pg_temp.lifecycle_event")
	require.Equal(t, "delivery.planned d1 1", s.written(t))
}

// What an operator does is written with its audit row, without the detail: it has the operator's words.
func TestLifecycleOfOperators(t *testing.T) {
	t.Parallel()

	const act = "INSERT INTO operator_action (actor, command, target, detail) VALUES ('ann@desk', 'delivery cancel', 'd1', '--reason secret')"
	s := newLifecycle(t)
	s.exec(t, act)
	s.migrated(t)
	require.Equal(t, "0", s.text(t, "SELECT count(*)::text FROM lifecycle_event"))
	s.exec(t, "BEGIN; "+act+"; ROLLBACK")
	require.Equal(t, "0", s.text(t, "SELECT count(*)::text FROM lifecycle_event"))
	s.exec(t, act)
	require.Equal(t, "operator.acted operator.acted ann@desk delivery cancel d1 t, id at actor command target", s.text(t, `
		SELECT concat_ws(' ', l.event_type, l.payload ->> 'type', data.actor, data.command, data.target, data.at = a.at) || ', ' ||
		       (SELECT string_agg(k, ' ') FROM json_object_keys(l.payload -> 'data') AS k)
		FROM   lifecycle_event l
		CROSS JOIN LATERAL json_to_record(l.payload -> 'data') AS data (id bigint, at timestamptz, actor text, command text, target text)
		JOIN   operator_action a ON a.id = data.id`))
	require.Equal(t, "d1", notification.IDAt([]byte(s.text(t, "SELECT payload::text FROM lifecycle_event")), relay.Lifecycle("").Aggregate.IDPath))
}
