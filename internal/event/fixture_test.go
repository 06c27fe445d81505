package event_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// lease is long enough that no lease runs out during a test.
const lease = time.Hour

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
	return roomtest.Must(db.One(t.Context(), s.Pool, "read event", pgx.RowToStructByPos[outboxRow], `
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
	return roomtest.Must(event.On(s).ClaimEvents(t.Context(), owner, limit, lease))(t)
}

func eventIDs(events []notification.PendingEvent) []string {
	return roomtest.Mapped(events, func(e notification.PendingEvent) string { return e.ID })
}

// endLeases lets every lease run out.
func endLeases(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, "UPDATE event_outbox SET lease_until = now() - interval '1 second' WHERE lease_owner IS NOT NULL")
}

// end ends owner's claims.
func end(t *testing.T, s *db.DB, owner string, outcome notification.ClaimOutcome, ids ...string) {
	t.Helper()
	results := roomtest.Mapped(ids, func(id string) notification.ClaimResult {
		return notification.ClaimResult{EventID: id, Outcome: outcome}
	})
	require.NoError(t, event.On(s).EndClaim(t.Context(), owner, results))
}

// processed returns the event's status in processed_event.
func processed(t *testing.T, s *db.DB, id string) string {
	t.Helper()
	return postgrestest.Get[string](t, s, "SELECT status FROM processed_event WHERE event_id = $1", id)
}
