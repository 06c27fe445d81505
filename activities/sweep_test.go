package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// registry is a Temporal that knows the states of workflows by their ids, and
// remembers what was started again.
type registry struct {
	states map[string]activities.WorkflowState
	starts map[string]error // why a start is refused

	mu      sync.Mutex
	asked   int
	events  []notification.PendingEvent
	started []notification.StuckDelivery
	policy  activities.DeliveryPolicy
}

func (r *registry) state(id string) (activities.WorkflowState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if state, known := r.states[id]; known {
		return state, nil
	}
	return activities.WorkflowUnknown, nil
}

func (r *registry) EventState(_ context.Context, id string) (activities.WorkflowState, error) {
	return r.state(id)
}

func (r *registry) DeliveryWorkflow(_ context.Context, id string, _ notification.Channel) (activities.WorkflowState, error) {
	return r.state(id)
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

// sweepOnce runs one sweep over a store.
func sweepOnce(t *testing.T, s *postgres.Store, temporal *registry) activities.SweepResult {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	return sweepIn(t, suite.NewTestActivityEnvironment(), sweeping(s, temporal))
}

func sweepIn(t *testing.T, env *testsuite.TestActivityEnvironment, a *activities.Activities) activities.SweepResult {
	t.Helper()
	env.RegisterActivity(a)
	value, err := env.ExecuteActivity(a.Sweep)
	require.NoError(t, err)
	var result activities.SweepResult
	require.NoError(t, value.Get(&result))
	return result
}

func sweeping(s *postgres.Store, temporal *registry) *activities.Activities {
	return &activities.Activities{
		Sweeps: s, Sweeper: temporal, Deliveries: s, DeadLetters: &broker{},
		Policies: map[notification.Channel]activities.DeliveryPolicy{notification.Email: {TaskQueue: "herald-email", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}}},
	}
}

// stick writes an event that is PROCESSING for an hour, with a delivery by e-mail
// to each of these customers that is PENDING for as long.
func stick(t *testing.T, s *postgres.Store, id string, users ...string) {
	t.Helper()
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		VALUES ($1, 'T', 'RESTAURANT', 5, '{}', 'PROCESSED', now())`, id)
	exec(t, s, "INSERT INTO processed_event (event_id, created_at) VALUES ($1, now() - interval '1 hour')", id)
	for _, user := range users {
		exec(t, s, `
			INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, created_at)
			VALUES ($1, 'T', 'CUSTOMER', $2, 'EMAIL', $3, 'Hello', 'You', now() - interval '1 hour')`,
			id, user, notification.DeliveryID(id, notification.Customer, user, notification.Email))
	}
}

// row is how far a delivery or an event has come: its status, and why.
func row(t *testing.T, s *postgres.Store, id string) string {
	t.Helper()
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		SELECT concat_ws(' ', status, last_error, 'restarts', restarts) FROM notification WHERE delivery_id = $1
		UNION ALL
		SELECT concat_ws(' ', status, outcome, 'restarts', restarts) FROM processed_event WHERE event_id = $1`, id).Scan(&text))
	return text
}

func TestSweepEvents(t *testing.T) {
	t.Parallel()

	tests := []struct {
		state  activities.WorkflowState
		before string // what came before
		refuse error
		want   string
		found  notification.Sweep
	}{
		{activities.WorkflowRunning, "", nil, "PROCESSING restarts 0", notification.Sweep{Looked: 1}},
		{activities.WorkflowUnknown, "", nil, "PROCESSING restarts 1", notification.Sweep{Looked: 1, StartedAgain: 1}},
		{activities.WorkflowCompleted, "", nil, "PROCESSING restarts 1", notification.Sweep{Looked: 1, StartedAgain: 1}},
		{activities.WorkflowTerminated, "", nil, "FAILED CANCELLED restarts 0", notification.Sweep{Looked: 1, Closed: 1}},
		{activities.WorkflowCancelled, "", nil, "FAILED CANCELLED restarts 0", notification.Sweep{Looked: 1, Closed: 1}},
		{activities.WorkflowUnknown, "UPDATE processed_event SET restarts = 2", nil, "PROCESSING restarts 3", notification.Sweep{Looked: 1, StartedAgain: 1}},
		{activities.WorkflowUnknown, "UPDATE processed_event SET restarts = 3", nil, "FAILED FAILED restarts 3", notification.Sweep{Looked: 1, Failed: 1}},
		{activities.WorkflowUnknown, "DELETE FROM event_outbox", nil, "FAILED FAILED restarts 0", notification.Sweep{Looked: 1, Failed: 1}},
		{activities.WorkflowUnknown, "", &notification.IDTakenError{WorkflowType: "Digest"}, "FAILED FAILED restarts 0", notification.Sweep{Looked: 1, Failed: 1}},
		{activities.WorkflowUnknown, "", errors.New("who knows"), "PROCESSING restarts 0", notification.Sweep{Looked: 1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.state, " ", tt.before, " ", tt.refuse), func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			stick(t, s, "evt-1")
			if tt.before != "" {
				exec(t, s, tt.before)
			}
			temporal := &registry{states: map[string]activities.WorkflowState{"evt-1": tt.state}, starts: map[string]error{"evt-1": tt.refuse}}

			require.Equal(t, tt.found, sweepOnce(t, s, temporal).Sweep)
			require.Equal(t, tt.want, row(t, s, "evt-1"))
			require.Len(t, temporal.events, tt.found.StartedAgain)
		})
	}
}

func TestSweepDeliveries(t *testing.T) {
	t.Parallel()

	const id = "evt-1-customer1-EMAIL"
	const running, unknown, closed = activities.WorkflowRunning, activities.WorkflowUnknown, activities.WorkflowCompleted
	const terminated, cancelled = activities.WorkflowTerminated, activities.WorkflowCancelled
	tests := []struct {
		event, own activities.WorkflowState
		restarts   int
		refuse     error
		want       string
		found      notification.Sweep
		givenUp    string
	}{
		{running, unknown, 0, nil, "PENDING restarts 0", notification.Sweep{Looked: 1}, ""},
		{closed, running, 0, nil, "PENDING restarts 0", notification.Sweep{Looked: 2}, ""},
		{terminated, running, 0, nil, "PENDING restarts 0", notification.Sweep{Looked: 2}, ""}, // an operator had it retried
		{closed, unknown, 0, nil, "PENDING restarts 1", notification.Sweep{Looked: 2, StartedAgain: 1}, ""},
		{unknown, unknown, 2, nil, "PENDING restarts 3", notification.Sweep{Looked: 2, StartedAgain: 1}, ""},
		{closed, closed, 0, nil, "PENDING restarts 1", notification.Sweep{Looked: 2, StartedAgain: 1}, ""},
		{closed, terminated, 0, nil, "CANCELLED terminated restarts 0", notification.Sweep{Looked: 2, Closed: 1}, ""},
		{closed, cancelled, 0, nil, "CANCELLED cancelled restarts 0", notification.Sweep{Looked: 2, Closed: 1}, ""},
		{terminated, unknown, 0, nil, "CANCELLED terminated restarts 0", notification.Sweep{Looked: 2, Closed: 1}, ""},
		{terminated, closed, 0, nil, "CANCELLED terminated restarts 0", notification.Sweep{Looked: 2, Closed: 1}, ""},
		{closed, unknown, 3, nil, "PENDING restarts 3", notification.Sweep{Looked: 2, Failed: 1}, "started again 3 times in vain"},
		{closed, unknown, 0, &notification.IDTakenError{WorkflowType: "Other", TaskQueue: "q"}, "PENDING restarts 0", notification.Sweep{Looked: 2, Failed: 1}, "the id is taken by the workflow Other of task queue q"},
		{closed, unknown, 0, errors.New("who knows"), "PENDING restarts 0", notification.Sweep{Looked: 2}, ""},
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
			}

			result := sweepOnce(t, s, temporal)

			require.Equal(t, tt.found, result.Sweep)
			require.Equal(t, tt.want, row(t, s, id))
			require.Len(t, temporal.started, tt.found.StartedAgain)
			if tt.found.StartedAgain > 0 {
				require.Equal(t, "herald-email", temporal.policy.TaskQueue)
			}
			if tt.givenUp != "" {
				require.Equal(t, []activities.GiveUpInput{{DeliveryID: id, Channel: notification.Email, Status: notification.Failed, Reason: tt.givenUp}}, result.GiveUp)
			} else {
				require.Empty(t, result.GiveUp)
			}
		})
	}
}

// Pages, and one question for all deliveries of an event. What is given up is
// bounded: the next sweep goes on there.
func TestSweepGoesOn(t *testing.T) {
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
	temporal := &registry{}
	var given []string
	for _, want := range []int{100, 100, 50} {
		result := sweepOnce(t, s, temporal)
		require.Equal(t, want, result.Failed)
		require.Equal(t, want+1, result.Looked)
		for _, lost := range result.GiveUp {
			given = append(given, lost.DeliveryID)
		}
	}
	require.Len(t, given, many)
	require.Equal(t, 100, sweepOnce(t, s, temporal).Failed, "and from the beginning again")
}

// An attempt that died is gone on with, and what it found is not forgotten.
func TestSweepResumes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1")
	stick(t, s, "evt-2")
	temporal := &registry{}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(activities.SweepResult{Sweep: notification.Sweep{Looked: 1, StartedAgain: 1, AfterEvent: "evt-1"}})
	result := sweepIn(t, env, sweeping(s, temporal))

	require.Equal(t, notification.Sweep{Looked: 2, StartedAgain: 2}, result.Sweep)
	require.Equal(t, "evt-2", temporal.events[0].ID)
	last, err := s.LastSweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, last.StartedAgain)
}

func TestSweepMetrics(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	stick(t, s, "evt-1")
	stick(t, s, "evt-2")
	m := newMeters()
	a := sweeping(s, &registry{states: map[string]activities.WorkflowState{"evt-2": activities.WorkflowTerminated}})
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(m.handler())
	sweepIn(t, suite.NewTestActivityEnvironment(), a)
	counted := m.counted()
	for name := range counted {
		if !strings.HasPrefix(name, "herald_sweep") {
			delete(counted, name)
		}
	}
	require.Equal(t, map[string]int64{"herald_sweep STARTED_AGAIN": 1, "herald_sweep CLOSED": 1}, counted)
}
