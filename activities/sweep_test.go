package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/purge"
)

// registry is a Temporal with the states of workflows by id. It keeps the workflows that the sweep
// started again.
type registry struct {
	states map[string]activities.WorkflowState
	closed time.Time // when the workflows that do not run closed
	// batches has the ranges of the completed batches of each event
	batches map[string][]notification.IDRange
	others  activities.WorkflowState // the state of workflows that states does not name
	starts  map[string]error         // the errors of starts, by id

	mu      sync.Mutex
	asked   []string
	events  []notification.PendingEvent
	started []notification.StuckDelivery
	policy  activities.DeliveryPolicy
}

func (r *registry) execution(id string) (activities.Execution, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, id)
	state, known := r.states[id]
	if !known {
		state = r.others
	}
	return activities.Execution{State: state, ClosedAt: r.closed}, nil
}

func (r *registry) EventWorkflow(_ context.Context, id string) (activities.Execution, error) {
	return r.execution(id)
}

func (r *registry) DeliveryWorkflow(_ context.Context, id string, _ notification.Channel) (activities.Execution, error) {
	return r.execution(id)
}

func (r *registry) Batch(_ context.Context, event string, _ notification.Channel, n int) (activities.BatchExecution, error) {
	if n > len(r.batches[event]) {
		return activities.BatchExecution{}, nil
	}
	return activities.BatchExecution{State: activities.WorkflowCompleted, IDs: r.batches[event][n-1]}, nil
}

func (r *registry) StartEventAgain(_ context.Context, event notification.PendingEvent) error {
	if err := r.starts[event.ID]; err != nil {
		return err
	}
	r.events = append(r.events, event)
	return nil
}

func (r *registry) StartDeliveryAgain(_ context.Context, delivery notification.StuckDelivery, policy activities.DeliveryPolicy) error {
	if err := r.starts[delivery.DeliveryID]; err != nil {
		return err
	}
	r.started, r.policy = append(r.started, delivery), policy
	return nil
}

func sweeping(s *db.DB, temporal *registry) *activities.Activities {
	return &activities.Activities{
		Sweeps: event.On(s), Expired: purge.On(s), Reputation: limit.On(s), Sweeper: temporal,
		Deliveries: attempt.On(s), Cancels: event.On(s), Lanes: attempt.On(s),
		Policies: map[notification.Channel]activities.DeliveryPolicy{notification.Email: {TaskQueue: "herald-email",
			AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}}},
	}
}

// stick writes an event that has been PROCESSING for an hour, with an hour-old PENDING e-mail to
// each customer.
func stick(t *testing.T, s *db.DB, id string, users ...string) {
	t.Helper()
	postgrestest.Add(t, s.Pool,
		postgrestest.Event{ID: id, AggregateType: "RESTAURANT", AggregateID: "5", Status: notification.OutboxProcessed},
		postgrestest.ProcessedEvent{ID: id, CreatedAt: time.Now().Add(-time.Hour)})
	for _, user := range users {
		postgrestest.Add(t, s.Pool, postgrestest.Delivery{
			ID: notification.DeliveryID(id, "customer", user, notification.Email), EventID: id, UserID: user, CreatedAt: time.Now().Add(-time.Hour),
		})
	}
}

// row returns the status of a delivery or an event, its reason and its restarts.
func row(t *testing.T, s *db.DB, id string) string {
	t.Helper()
	return get[string](t, s, `
		SELECT concat_ws(' ', status, last_error, 'restarts', restarts) FROM notification WHERE delivery_id = $1
		UNION ALL
		SELECT concat_ws(' ', status, outcome, 'restarts', restarts) FROM processed_event WHERE event_id = $1`, id)
}

func TestSweepEvents(t *testing.T) {
	t.Parallel()

	tests := []struct {
		state  activities.WorkflowState // empty: Temporal knows no workflow
		before string                   // a statement that runs before the sweep
		refuse error                    // the error of the start
		want   string                   // its row in the end
		found  notification.Sweep

		published bool // RabbitMQ has the event's message
	}{
		{state: activities.WorkflowRunning, want: "PROCESSING restarts 0", found: notification.Sweep{Looked: 1}},
		{want: "PROCESSING restarts 1", found: notification.Sweep{Looked: 1, StartedAgain: 1}},
		{state: activities.WorkflowCompleted, want: "PROCESSING restarts 0", found: notification.Sweep{Looked: 1, Ambiguous: 1}},
		{state: activities.WorkflowFailed, want: "PROCESSING restarts 1", found: notification.Sweep{Looked: 1, StartedAgain: 1}},
		{state: activities.WorkflowTerminated, want: "FAILED CANCELLED restarts 0", found: notification.Sweep{Looked: 1, Closed: 1}},
		{state: activities.WorkflowCancelled, want: "FAILED CANCELLED restarts 0", found: notification.Sweep{Looked: 1, Closed: 1}},
		{state: activities.WorkflowRolledBack, want: "PROCESSING restarts 1", found: notification.Sweep{Looked: 1, StartedAgain: 1}},
		{state: activities.WorkflowRolledBack, before: "UPDATE processed_event SET restarts = 3", want: "PROCESSING restarts 4",
			found: notification.Sweep{Looked: 1, StartedAgain: 1}},
		{before: "UPDATE event_outbox SET acknowledged_at = now()", want: "PROCESSING restarts 1",
			found: notification.Sweep{Looked: 1, StartedAgain: 1}, published: true},
		{before: "UPDATE processed_event SET restarts = 2", want: "PROCESSING restarts 3", found: notification.Sweep{Looked: 1, StartedAgain: 1}},
		{before: "UPDATE processed_event SET restarts = 3", want: "FAILED FAILED restarts 3", found: notification.Sweep{Looked: 1, Failed: 1}},
		{before: "DELETE FROM event_outbox", want: "FAILED FAILED restarts 0", found: notification.Sweep{Looked: 1, Failed: 1}},
		{refuse: &notification.IDTakenError{WorkflowType: "Digest"}, want: "FAILED FAILED restarts 0",
			found: notification.Sweep{Looked: 1, Failed: 1}},
		{refuse: errors.New("who knows"), want: "PROCESSING restarts 0", found: notification.Sweep{Looked: 1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.state, " ", tt.before, " ", tt.refuse), func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			stick(t, s, "evt-1")
			exec(t, s, tt.before)
			temporal := &registry{
				states: map[string]activities.WorkflowState{"evt-1": tt.state}, starts: map[string]error{"evt-1": tt.refuse}, closed: time.Now(),
			}

			a, m := sweeping(s, temporal), newMeters()
			require.Equal(t, tt.found, sweepIn(t, newEnv(a, m.handler()), a))
			for outcome, count := range map[string]int{"STARTED_AGAIN": tt.found.StartedAgain, "CLOSED": tt.found.Closed,
				"FAILED": tt.found.Failed} {
				require.EqualValues(t, count, m.counted()["herald_sweep "+outcome], outcome)
			}
			require.Equal(t, tt.want, row(t, s, "evt-1"))
			require.Len(t, temporal.events, tt.found.StartedAgain)
			for _, event := range temporal.events {
				require.Equal(t, tt.published, event.Published)
			}
		})
	}
}

// The deliveries of an event that an operator terminated are cancelled, also deliveries with a workflow
// that still runs or waits. A delivery that an operator retries is not.
func TestSweepCancelsDeliveriesOfATerminatedEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1", "1", "2", "3")
	exec(t, s, "UPDATE notification SET send_after = now() + interval '1 day' WHERE user_id = '2'")
	postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: "evt-1-customer3-EMAIL"})
	temporal := &registry{states: map[string]activities.WorkflowState{
		"evt-1": activities.WorkflowTerminated, "evt-1-customer1-EMAIL": activities.WorkflowRunning,
		"evt-1-customer3-EMAIL": activities.WorkflowRunning,
	}}

	a := sweeping(s, temporal)
	found := must(execute[notification.Sweep](newEnv(a), a.Sweep))(t)

	require.Equal(t, 3, found.Closed, "the event and two deliveries")
	require.Equal(t, "CANCELLED terminated restarts 0", row(t, s, "evt-1-customer1-EMAIL"))
	require.Equal(t, "CANCELLED terminated restarts 0", row(t, s, "evt-1-customer2-EMAIL"))
	require.Equal(t, "PENDING restarts 0", row(t, s, "evt-1-customer3-EMAIL"))
}

func TestSweepDeliveries(t *testing.T) {
	t.Parallel()

	const id = "evt-1-customer1-EMAIL"
	const running, closed = activities.WorkflowRunning, activities.WorkflowCompleted
	const terminated, cancelled = activities.WorkflowTerminated, activities.WorkflowCancelled
	tests := []struct {
		event, own activities.WorkflowState // empty: Temporal knows no workflow
		restarts   int                      // restarts by earlier sweeps
		refuse     error                    // the error of the start
		want       string                   // its row in the end
		found      notification.Sweep
	}{
		{event: running, want: "PENDING restarts 0",
			found: notification.Sweep{Looked: 1}}, // the event's workflow, a page or a batch starts the delivery
		{event: closed, own: running, want: "PENDING restarts 0", found: notification.Sweep{Looked: 2}},
		{event: terminated, own: running, want: "PENDING restarts 0", found: notification.Sweep{Looked: 2}}, // an operator retried the delivery
		{event: closed, want: "PENDING restarts 1", found: notification.Sweep{Looked: 3, StartedAgain: 1}},  // it asks for a batch, too
		{restarts: 2, want: "PENDING restarts 3", found: notification.Sweep{Looked: 2, StartedAgain: 1}},
		{event: closed, own: closed, want: "PENDING restarts 0", found: notification.Sweep{Looked: 2, Ambiguous: 1}},
		{event: closed, own: activities.WorkflowFailed, want: "PENDING restarts 1", found: notification.Sweep{Looked: 2, StartedAgain: 1}},
		{event: closed, own: terminated, want: "CANCELLED terminated restarts 0", found: notification.Sweep{Looked: 2, Closed: 1}},
		{event: closed, own: cancelled, want: "CANCELLED cancelled restarts 0", found: notification.Sweep{Looked: 2, Closed: 1}},
		{event: terminated, want: "CANCELLED terminated restarts 0", found: notification.Sweep{Looked: 2, Closed: 1}},
		{event: terminated, own: closed, want: "CANCELLED terminated restarts 0", found: notification.Sweep{Looked: 2, Closed: 1}},
		{event: closed, own: activities.WorkflowRolledBack, restarts: 3, want: "PENDING restarts 4",
			found: notification.Sweep{Looked: 2, StartedAgain: 1}},
		{event: activities.WorkflowRolledBack, want: "PENDING restarts 1", found: notification.Sweep{Looked: 2, StartedAgain: 1}},
		{event: closed, restarts: 3, want: "FAILED started again 3 times in vain restarts 3", found: notification.Sweep{Looked: 3, Failed: 1}},
		{event: closed, refuse: &notification.IDTakenError{WorkflowType: "Other", TaskQueue: "q"},
			want: "FAILED the id is taken by the workflow Other of task queue q restarts 0", found: notification.Sweep{Looked: 3, Failed: 1}},
		{event: closed, refuse: errors.New("who knows"), want: "PENDING restarts 0", found: notification.Sweep{Looked: 3}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.event, " ", tt.own, " ", tt.restarts, " ", tt.refuse), func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			stick(t, s, "evt-1", "1")
			exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
			exec(t, s, "UPDATE notification SET restarts = $1", tt.restarts)
			temporal := &registry{
				states: map[string]activities.WorkflowState{"evt-1": tt.event, id: tt.own},
				starts: map[string]error{id: tt.refuse},
				closed: time.Now(),
			}

			result := sweep(t, sweeping(s, temporal))

			require.Equal(t, tt.found, result)
			require.Equal(t, tt.want, row(t, s, id))
			require.Len(t, temporal.started, tt.found.StartedAgain)
			if tt.found.StartedAgain > 0 {
				require.Equal(t, "herald-email", temporal.policy.TaskQueue)
			}
		})
	}
}

// The sweep reads pages, and asks Temporal once for the event of several deliveries.
func TestSweepReadsPages(t *testing.T) {
	t.Parallel()

	const many = 250
	s := postgrestest.New(t)
	var users []string
	for i := range many {
		users = append(users, fmt.Sprint(i))
	}
	stick(t, s, "evt-1", users...)
	exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
	exec(t, s, "UPDATE notification SET restarts = 3")

	found := sweep(t, sweeping(s, &registry{}))

	require.Equal(t, notification.Sweep{Looked: many + 1, Failed: many}, found)
	require.Len(t, deadLetters(t, s), many)
}

// A row that is purged during the sweep does not stop it.
func TestSweepOfAPurgedRow(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1", "1")
	exec(t, s, "UPDATE processed_event SET status = 'SUCCESS'")
	exec(t, s, "UPDATE notification SET restarts = 3")
	a := sweeping(s, &registry{})
	a.Deliveries = &deliveries{beginErr: notification.ErrNoDelivery}

	require.Equal(t, notification.Sweep{Looked: 2}, sweep(t, a))
}

// Many due events do not use up the time for deliveries. Several sweeps reach all events, the
// events that wait by design included.
func TestSweepSharesItsTime(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	const events = 250
	for i := range events {
		stick(t, s, fmt.Sprintf("evt-%03d", i))
	}
	stick(t, s, "evt-waits", "1")
	exec(t, s, "UPDATE notification SET send_after = now() + interval '1 day'")
	stick(t, s, "lost", "1")
	exec(t, s, "UPDATE processed_event SET status = 'SUCCESS' WHERE event_id = 'lost'")
	temporal := &registry{others: activities.WorkflowRunning,
		states: map[string]activities.WorkflowState{"lost": activities.WorkflowCompleted, "lost-customer1-EMAIL": activities.WorkflowUnknown}}
	a := sweeping(s, temporal)
	a.SweepTime = 1

	first := sweep(t, a)
	require.Len(t, temporal.started, 1)
	require.Equal(t, "evt-099", first.AfterEvent)
	require.Less(t, slices.Index(temporal.asked, "lost"), slices.Index(temporal.asked, "evt-waits"), "events that wait come last")
	sweep(t, a)
	require.Empty(t, sweep(t, a).AfterEvent)
	asked := map[string]bool{}
	for _, id := range temporal.asked {
		asked[id] = true
	}
	require.Len(t, asked, events+3)
	require.Contains(t, asked, "evt-waits")
}

func sweep(t *testing.T, a *activities.Activities) notification.Sweep {
	t.Helper()
	return sweepIn(t, newEnv(a), a)
}

// sweepIn returns what a sweep found, without the time up to which it counted receipts.
func sweepIn(t *testing.T, env *testsuite.TestActivityEnvironment, a *activities.Activities) notification.Sweep {
	t.Helper()
	found := must(execute[notification.Sweep](env, a.Sweep))(t)
	require.NotNil(t, found.ReceiptsTo)
	found.ReceiptsTo = nil
	return found
}

// The next attempt continues where a dead attempt stopped, and keeps its results.
func TestSweepResumes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1")
	stick(t, s, "evt-2")
	temporal := &registry{}
	a := sweeping(s, temporal)
	env := newEnv(a)
	env.SetHeartbeatDetails(notification.Sweep{Looked: 1, StartedAgain: 1, AfterEvent: "evt-1"})
	require.Equal(t, notification.Sweep{Looked: 2, StartedAgain: 2}, sweepIn(t, env, a))
	require.Equal(t, "evt-2", temporal.events[0].ID)
	require.Equal(t, 2, must(event.On(s).LastSweep(t.Context()))(t).StartedAgain)
}

// undeletable is a database whose role may not delete throttle windows.
type undeletable struct{ purge.Store }

func (undeletable) DeleteThrottles(context.Context, int) (int, error) {
	return 0, errors.New("permission denied for table throttle")
}

// If the sweep cannot delete throttle windows, it is still recorded.
func TestSweepThatCannotDelete(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1")
	a := sweeping(s, &registry{})
	a.Expired = undeletable{purge.On(s)}

	sweep(t, a)

	require.Equal(t, 1, must(event.On(s).LastSweep(t.Context()))(t).StartedAgain)
}

// A sweep pauses a sender from which too many recipients reported spam, and remembers up to when it
// counted.
func TestSweepPausesASender(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	a := sweeping(s, &registry{})
	begin := must(execute[notification.Sweep](newEnv(a), a.Sweep))(t).ReceiptsTo
	exec(t, s, "UPDATE sweep SET receipts_to = now() - interval '1 hour'")
	postgrestest.AddMany(t, s.Pool, 200, postgrestest.Delivery{Status: notification.Sent, SentAt: time.Now().Add(-time.Minute)},
		postgrestest.Expressions{"delivery_id": "'d-' || i", "user_id": "i::text", "provider": "'sendgrid'"})
	postgrestest.AddMany(t, s.Pool, 200, postgrestest.Attempt{Outcome: notification.OutcomeSent},
		postgrestest.Expressions{"delivery_id": "'d-' || i", "sender": "'news@example.com'"})
	postgrestest.AddMany(t, s.Pool, 200, postgrestest.Receipt{ReceivedAt: time.Now().Add(-2 * time.Minute), Outcome: notification.Delivered},
		postgrestest.Expressions{"receipt_id": "'r-' || i", "delivery_id": "'d-' || i", "harm": "CASE WHEN i = 1 THEN 'COMPLAINT' END"})

	end := must(execute[notification.Sweep](newEnv(a), a.Sweep))(t).ReceiptsTo
	require.False(t, end.Before(*begin))
	require.Equal(t, "1 of 200", get[string](t, s, "SELECT complaints || ' of ' || recipients FROM sender_state WHERE paused_at IS NOT NULL"))
}
