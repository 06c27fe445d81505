package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// The end of a large event changes few of its deliveries in each statement. One statement over
// a million PENDING ones runs into its time limit.
func TestEndsOfLargeEvents(t *testing.T) {
	t.Parallel()

	const all, pending = 100_000, 20_000
	s := postgrestest.New(t)
	emit(t, s, 2)
	// The indexes of the inbox have no part in this, and writing them takes most of the time.
	exec(t, s, "DROP INDEX notification_of_user, notification_created_at, notification_inbox, notification_unread")
	const insert = `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, send_after, status, sent_at)
		SELECT $1::text, 'T', 'CUSTOMER', 'u' || i, CASE WHEN i % 2 = 0 THEN 'SMS' ELSE 'EMAIL' END, $1::text || i, 't', 'b', now() + interval '1 hour',
		       CASE WHEN i % $3 = 0 THEN 'PENDING' ELSE 'SENT' END, now()
		FROM   generate_series(1, $2::int) AS i`
	exec(t, s, insert, "evt-1", all, all/pending)
	exec(t, s, insert, "evt-2", pending, 1)
	changeFew(t, s)

	counts, err := s.FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Outcome: notification.EventFailed})
	require.NoError(t, err)
	require.Equal(t, map[notification.Status]int{notification.Sent: all - pending, notification.Cancelled: pending}, counts.Deliveries)

	retried, err := s.RetryEvent(t.Context(), "evt-1")
	require.NoError(t, err)
	require.True(t, retried)

	withdrawn, err := s.WithdrawEvent(t.Context(), "evt-2")
	require.NoError(t, err)
	require.True(t, withdrawn)
	counted, err := s.EventCounts(t.Context(), "evt-2")
	require.NoError(t, err)
	require.Equal(t, map[notification.Status]int{notification.Cancelled: pending}, counted)
}

// changeFew has the database refuse a statement that changes more than 5,000 deliveries.
func changeFew(t *testing.T, s *postgres.Store) {
	t.Helper()
	exec(t, s, `
		CREATE FUNCTION change_few() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT count(*) FROM changed) > 5000 THEN RAISE 'one statement changes too many deliveries'; END IF;
			RETURN NULL;
		END $$`)
	exec(t, s, "CREATE TRIGGER change_few AFTER UPDATE ON notification REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION change_few()")
}
