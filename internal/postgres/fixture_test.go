package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/gateway"
	"herald/internal/postgres/postgrestest"
)

// lease is long enough that no lease runs out during a test.
const lease = time.Hour

// gatewayOf returns the statements of a gateway on a database.
func gatewayOf(s *postgres.Store) *gateway.Store { return &gateway.Store{Store: s} }

// newWith returns a store that knows addresses by their hashes, and that has the rows of each plan.
func newWith(t *testing.T, plans ...func(*testing.T, *postgres.Store)) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	s.AddressHash = hashed
	for _, plan := range plans {
		plan(t, s)
	}
	return s
}

// empty deletes the rows of an earlier case. It is much quicker than a new database.
func empty(t *testing.T, s *postgres.Store) {
	t.Helper()
	postgrestest.Exec(t, s, `
		DELETE FROM notification_decision; DELETE FROM notification; DELETE FROM delivery_receipt; DELETE FROM delivery_follow_up;
		DELETE FROM event_type_escalation; DELETE FROM event_type_channel_routing; DELETE FROM event_category;
		DELETE FROM entity_notification_settings; DELETE FROM user_notification_preferences; DELETE FROM user_category_preferences;
		DELETE FROM user_settings; DELETE FROM recipient_suppression; DELETE FROM recipient; DELETE FROM processed_event; DELETE FROM event_outbox;
		INSERT INTO channel_user_type (channel_type, user_type) VALUES ('EMAIL', 'RESTAURANT_USER') ON CONFLICT DO NOTHING`)
}

// awaitLock waits until a session waits for the lock of another session.
func awaitLock(t *testing.T, s *postgres.Store) {
	t.Helper()
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
	}, time.Minute, 5*time.Millisecond)
}

// emit writes n events, evt-1 to evt-n, in one statement each.
func emit(t *testing.T, s *postgres.Store, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		emitEvent(t, s, fmt.Sprintf("evt-%d", i))
	}
}

func emitEvent(t *testing.T, s *postgres.Store, id string) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: id, Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", Payload: `{"restaurantId": 5}`})
}

// outboxRow holds the columns of an event that tests check.
type outboxRow struct {
	Status  notification.OutboxStatus
	Claims  int
	Error   *string
	Leased  bool
	Settled bool // published_at is set
}

func outbox(t *testing.T, s *postgres.Store, id string) outboxRow {
	t.Helper()
	var row outboxRow
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		SELECT status, attempt_count, error_message, lease_owner IS NOT NULL, published_at IS NOT NULL
		FROM   event_outbox
		WHERE  event_id = $1`, id).Scan(&row.Status, &row.Claims, &row.Error, &row.Leased, &row.Settled))
	return row
}

func claim(t *testing.T, s *postgres.Store, owner string, limit int) []string {
	t.Helper()
	return eventIDs(claimEvents(t, s, owner, limit))
}

func claimEvents(t *testing.T, s *postgres.Store, owner string, limit int) []notification.PendingEvent {
	t.Helper()
	return must(s.ClaimEvents(t.Context(), owner, limit, lease))(t)
}

func eventIDs(events []notification.PendingEvent) []string {
	ids := make([]string, 0, len(events))
	for _, event := range events {
		ids = append(ids, event.ID)
	}
	return ids
}

// endLeases lets every lease run out.
func endLeases(t *testing.T, s *postgres.Store) {
	t.Helper()
	postgrestest.Exec(t, s, "UPDATE event_outbox SET lease_until = now() - interval '1 second' WHERE lease_owner IS NOT NULL")
}

func ptr[T any](value T) *T { return &value }

// end ends owner's claims.
func end(t *testing.T, s *postgres.Store, owner string, outcome notification.ClaimOutcome, ids ...string) {
	t.Helper()
	var results []notification.ClaimResult
	for _, id := range ids {
		results = append(results, notification.ClaimResult{EventID: id, Outcome: outcome})
	}
	require.NoError(t, s.EndClaim(t.Context(), owner, results))
}

// processed returns the event's status in processed_event.
func processed(t *testing.T, s *postgres.Store, id string) string {
	t.Helper()
	return postgrestest.Get[string](t, s, "SELECT status FROM processed_event WHERE event_id = $1", id)
}

// must returns the value of a call and fails the test if the call has failed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }
