package db_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
)

// lease is long enough that no lease runs out during a test.
const lease = time.Hour

// newWith returns a store that knows addresses by their hashes, and that has the rows of each plan.
func newWith(t *testing.T, plans ...func(*testing.T, *db.DB)) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	s.AddressHash = hashed
	for _, plan := range plans {
		plan(t, s)
	}
	return s
}

// empty deletes the rows of an earlier case. It is much quicker than a new database.
func empty(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, `
		DELETE FROM notification_decision; DELETE FROM notification; DELETE FROM delivery_receipt; DELETE FROM delivery_follow_up;
		DELETE FROM event_type_escalation; DELETE FROM event_type_channel_routing; DELETE FROM event_category;
		DELETE FROM entity_notification_settings; DELETE FROM user_notification_preferences; DELETE FROM user_category_preferences;
		DELETE FROM user_settings; DELETE FROM recipient_suppression; DELETE FROM recipient; DELETE FROM processed_event; DELETE FROM event_outbox;
		INSERT INTO channel_user_type (channel_type, user_type) VALUES ('EMAIL', 'RESTAURANT_USER') ON CONFLICT DO NOTHING`)
}

// awaitLock waits until a session waits for the lock of another session.
func awaitLock(t *testing.T, s *db.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
	}, time.Minute, 5*time.Millisecond)
}

// sideBySide calls f(0) to f(n-1) at the same time.
func sideBySide(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var group errgroup.Group
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	require.NoError(t, group.Wait())
}

// commitDuring calls f, and commits a transaction while f waits for its lock.
func commitDuring(t *testing.T, s *db.DB, tx pgx.Tx, f func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	awaitLock(t, s)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
}

// emit writes n events, evt-1 to evt-n, in one statement each.
func emit(t *testing.T, s *db.DB, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		emitEvent(t, s, fmt.Sprintf("evt-%d", i))
	}
}

func emitEvent(t *testing.T, s *db.DB, id string) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: id, Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", Payload: `{"restaurantId": 5}`})
}

// plant inserts n deliveries in one statement: by default e-mails d1 to dn, about events e1 to en, to
// customers 1 to n. sql replaces columns with expressions of the number i.
func plant(t *testing.T, s *db.DB, n int, sql map[string]string) {
	t.Helper()
	columns := map[string]string{
		"event_id": "'e' || i", "event_type": "'T'", "user_type": "'CUSTOMER'", "user_id": "i::text", "channel": "'EMAIL'", "delivery_id": "'d' || i", "title": "'title'", "body": "'body'",
	}
	maps.Copy(columns, sql)
	names := slices.Sorted(maps.Keys(columns))
	values := mapped(names, func(name string) string { return columns[name] })
	postgrestest.Exec(t, s, fmt.Sprintf("INSERT INTO notification (%s) SELECT %s FROM generate_series(1, %d) AS i", strings.Join(names, ", "), strings.Join(values, ", "), n))
}

// outboxRow holds the columns of an event that tests check.
type outboxRow struct {
	Status  notification.OutboxStatus
	Claims  int
	Error   *string
	Leased  bool
	Settled bool // published_at is set
}

func outboxOf(t *testing.T, s *db.DB, id string) outboxRow {
	t.Helper()
	return must(db.One(t.Context(), s.Pool, "read event", pgx.RowToStructByPos[outboxRow], `
		SELECT status, attempt_count, error_message, lease_owner IS NOT NULL, published_at IS NOT NULL
		FROM   event_outbox
		WHERE  event_id = $1`, id))(t)
}

func claim(t *testing.T, s *db.DB, owner string, limit int) []string {
	t.Helper()
	return eventIDs(claimEvents(t, s, owner, limit))
}

func claimEvents(t *testing.T, s *db.DB, owner string, limit int) []notification.PendingEvent {
	t.Helper()
	return must(event.On(s).ClaimEvents(t.Context(), owner, limit, lease))(t)
}

func eventIDs(events []notification.PendingEvent) []string {
	return mapped(events, func(e notification.PendingEvent) string { return e.ID })
}

func idsOf(deliveries []notification.Delivery) []string {
	return mapped(deliveries, func(d notification.Delivery) string { return d.DeliveryID })
}

// mapped returns f of each element.
func mapped[T, R any](all []T, f func(T) R) (results []R) {
	for _, one := range all {
		results = append(results, f(one))
	}
	return results
}

// endLeases lets every lease run out.
func endLeases(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, "UPDATE event_outbox SET lease_until = now() - interval '1 second' WHERE lease_owner IS NOT NULL")
}

func ptr[T any](value T) *T { return &value }

// end ends owner's claims.
func end(t *testing.T, s *db.DB, owner string, outcome notification.ClaimOutcome, ids ...string) {
	t.Helper()
	results := mapped(ids, func(id string) notification.ClaimResult {
		return notification.ClaimResult{EventID: id, Outcome: outcome}
	})
	require.NoError(t, event.On(s).EndClaim(t.Context(), owner, results))
}

// processed returns the event's status in processed_event.
func processed(t *testing.T, s *db.DB, id string) string {
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

// errOf returns the error of a call, and errOfTwo of a call with two results.
func errOf[T any](_ T, err error) error { return err }

func errOfTwo[A, B any](_ A, _ B, err error) error { return err }
