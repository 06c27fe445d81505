package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// finished is a Temporal whose workflows all completed a minute ago.
func finished() *registry {
	return &registry{others: activities.WorkflowCompleted, closed: time.Now().Add(-time.Minute)}
}

// perhapsSent writes an event that lost its end with a delivery, and an ended event with three deliveries:
// of a workflow, of a batch, and of neither, which nobody sent. It returns their Temporal.
func perhapsSent(t *testing.T, s *db.DB) *registry {
	t.Helper()
	stick(t, s, "evt-open", "1")
	stick(t, s, "evt-ended", "1", "2", "3")
	exec(t, s, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE' WHERE event_id = 'evt-ended'")
	batched := get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = 'evt-ended-customer2-EMAIL'")
	temporal := finished()
	temporal.states = map[string]activities.WorkflowState{
		"evt-ended-customer2-EMAIL": activities.WorkflowUnknown, "evt-ended-customer3-EMAIL": activities.WorkflowUnknown,
	}
	temporal.batches = map[string][]notification.IDRange{"evt-ended": {{First: 1, Last: batched - 2}, {First: batched, Last: batched}}}
	return temporal
}

func restore(t *testing.T, s *db.DB, temporal *registry, in activities.RestoreInput) notification.Restored {
	t.Helper()
	in.Rate = 1000
	a := sweeping(s, temporal)
	return must(execute[notification.Restored](newEnv(a), a.Restore, in))(t)
}

// Rows whose workflow or batch completed are named, and nothing is sent again or ended. A delivery that
// nobody sent is started.
func TestAmbiguousRowsAreNamed(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := perhapsSent(t, s)

	found := sweep(t, sweeping(s, temporal))
	require.Equal(t, 3, found.Ambiguous)
	require.Equal(t, 1, found.StartedAgain)
	require.Equal(t, "evt-ended-customer3-EMAIL", temporal.started[0].DeliveryID)
	require.Empty(t, temporal.events)
	require.Equal(t, 3, get[int](t, s, "SELECT ambiguous FROM sweep"), "for starter status")

	temporal.states["evt-ended-customer3-EMAIL"] = activities.WorkflowRunning
	done := restore(t, s, temporal, activities.RestoreInput{})
	require.Zero(t, done.StartedAgain+done.Ambiguous)
	left := restore(t, s, temporal, activities.RestoreInput{Check: true})
	require.Equal(t, 3, left.Ambiguous)
	require.Equal(t, []string{"evt-open", "evt-ended-customer1-EMAIL", "evt-ended-customer2-EMAIL"}, left.AmbiguousIDs)
	require.Zero(t, left.MissingEvents+left.MissingDeliveries)
	require.Len(t, temporal.started, 1)
	require.Empty(t, temporal.events)
	require.Equal(t, 4, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'PENDING'"))
}

// `--resend none` ends ambiguous rows, also young ones, and sends nothing.
func TestResendNone(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := perhapsSent(t, s)
	exec(t, s, `WITH young AS (UPDATE processed_event SET created_at = now()) UPDATE event_outbox SET published_at = now()`)

	done := restore(t, s, temporal, activities.RestoreInput{Resend: notification.ResendNone})

	require.Equal(t, 4, done.Dropped, "an event and three deliveries")
	require.Zero(t, done.Resent+done.Closed+done.Failed)
	require.Equal(t, "FAILED CANCELLED restarts 0", row(t, s, "evt-open"))
	for _, id := range []string{"evt-open-customer1-EMAIL", "evt-ended-customer1-EMAIL", "evt-ended-customer2-EMAIL"} {
		require.Equal(t, "CANCELLED perhaps sent restarts 0", row(t, s, id))
	}
	require.Equal(t, "PENDING restarts 0", row(t, s, "evt-ended-customer3-EMAIL"))
	require.Empty(t, temporal.events)
	require.Zero(t, restore(t, s, temporal, activities.RestoreInput{Check: true}).Ambiguous)
}

// `--resend ambiguous` starts them again, an event with the order to repeat its deliveries.
func TestResendAmbiguous(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := perhapsSent(t, s)
	a := sweeping(s, temporal)
	a.Sweeper = runs{temporal}

	in := activities.RestoreInput{Rate: 1000, Resend: notification.ResendAmbiguous}
	done := must(execute[notification.Restored](newEnv(a), a.Restore, in))(t)

	require.Equal(t, 3, done.Resent)
	require.Zero(t, done.Dropped)
	require.Equal(t, "evt-open", temporal.events[0].ID)
	require.True(t, temporal.events[0].Again)
	require.Len(t, temporal.events, 1)
	require.Len(t, temporal.started, 3, "the third was never sent")
}

// runs is a registry whose started workflows run.
type runs struct{ *registry }

func (r runs) StartEventAgain(ctx context.Context, event notification.PendingEvent) error {
	r.states[event.ID] = activities.WorkflowRunning
	return r.registry.StartEventAgain(ctx, event)
}

func (r runs) StartDeliveryAgain(ctx context.Context, d notification.StuckDelivery, policy activities.DeliveryPolicy) error {
	r.states[d.DeliveryID] = activities.WorkflowRunning
	return r.registry.StartDeliveryAgain(ctx, d, policy)
}

// A row that an operator opened again after its workflow had completed is no loss: the run of the retry is
// lost, and is started again.
func TestReopenedRowsAreNotAmbiguous(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		reopened  time.Duration // ago; the workflows completed a minute ago
		ambiguous bool
	}{
		"before its last run completed": {reopened: 2 * time.Minute, ambiguous: true},
		"after its last run completed":  {reopened: time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			stick(t, s, "evt-ended", "1")
			exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
			stick(t, s, "evt-anew")
			exec(t, s, "UPDATE event_outbox SET published_at = now() - interval '1 hour'")
			at := time.Now().Add(-tt.reopened)
			exec(t, s, "UPDATE processed_event SET created_at = $1 WHERE event_id = 'evt-anew'", at)
			postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: "evt-ended-customer1-EMAIL", At: at})
			temporal := finished()

			found := restore(t, s, temporal, activities.RestoreInput{Check: true})

			require.Equal(t, tt.ambiguous, found.Ambiguous == 2)
			require.Equal(t, !tt.ambiguous, found.MissingEvents == 1 && found.MissingDeliveries == 1)
		})
	}
}
