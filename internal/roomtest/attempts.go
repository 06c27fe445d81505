package roomtest

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Begin begins an attempt. An attempt that has not ended is dead: its lease has run out.
func Begin(t *testing.T, s *db.DB, id string, before int) notification.Attempt {
	t.Helper()
	RunOut(t, s)
	return BeginAs(t, s, notification.Begin{DeliveryIDs: []string{id}, Before: before})[0]
}

// BeginAs begins attempts for a new sender.
func BeginAs(t *testing.T, s *db.DB, in notification.Begin) []notification.Attempt {
	t.Helper()
	in.Owner, in.Lease = rand.Text(), time.Minute
	attempts := Must(attempt.On(s).BeginAttempts(t.Context(), in))(t)
	require.Len(t, attempts, len(in.DeliveryIDs))
	return attempts
}

func BeginBatch(t *testing.T, s *db.DB, ids []string) []notification.Attempt {
	t.Helper()
	return BeginAs(t, s, notification.Begin{DeliveryIDs: ids, First: true})
}

// RunOut lets all leases run out.
func RunOut(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_until = now() - interval '1 second' WHERE attempt_owner IS NOT NULL")
}

// Owned returns results with the owners of their deliveries' leases.
func Owned(t *testing.T, s *db.DB, results ...notification.AttemptResult) []notification.AttemptResult {
	t.Helper()
	results = slices.Clone(results)
	for i, r := range results {
		id := r.DeliveryID
		if len(r.Items) > 0 {
			id = r.Items[0].DeliveryID
		}
		results[i].Owner = postgrestest.Get[string](t, s, "SELECT coalesce(max(attempt_owner), '') FROM notification WHERE delivery_id = $1", id)
	}
	return results
}

// EndAttempt ends an attempt at the mail.
func EndAttempt(t *testing.T, s *db.DB, number int, outcome notification.AttemptOutcome, detail string) {
	t.Helper()
	EndAs(t, s, notification.AttemptResult{DeliveryID: Mail, Number: number, Outcome: outcome, Detail: detail})
}

// EndAs ends an attempt and returns the age of its event.
func EndAs(t *testing.T, s *db.DB, result notification.AttemptResult) time.Duration {
	t.Helper()
	recorded := EndGroup(t, s, []notification.AttemptResult{result})[0]
	require.Empty(t, recorded.DeadTokensKept)
	return recorded.Age
}

func EndGroup(t *testing.T, s *db.DB, results []notification.AttemptResult) []notification.RecordedAttempt {
	t.Helper()
	recorded := Must(attempt.On(s).EndAttempts(t.Context(), Owned(t, s, results...)))(t)
	require.Len(t, recorded, len(results))
	return recorded
}

// SentAt returns results of deliveries that were sent at an attempt with this number.
func SentAt(number int, ids ...string) []notification.AttemptResult {
	results := make([]notification.AttemptResult, len(ids))
	for i, id := range ids {
		results[i] = notification.AttemptResult{DeliveryID: id, Number: number, Outcome: notification.OutcomeSent}
	}
	return results
}

func Reopen(t *testing.T, s *db.DB, plan notification.Reopened) notification.ReopenedState {
	t.Helper()
	return Must(attempt.On(s).Reopen(t.Context(), plan))(t)
}

// Anew returns a plan of the mail with another text and another address.
func Anew(run string, again bool) notification.Reopened {
	return notification.Reopened{DeliveryID: Mail, RunID: run, Again: again, Address: "new", Title: new("new title"), Body: new("new body")}
}
