package event_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// planThree plans three deliveries of evt-1: one SENT, one FAILED and one PENDING. It also plans a
// delivery of another event.
func planThree(t *testing.T, s *db.DB) {
	t.Helper()
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email), roomtest.Planned(notification.SMS)),
		roomtest.Decided("11", roomtest.Planned(notification.Push)), roomtest.Decided("12"))
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Sent)
	roomtest.SetStatus(t, s, "evt-1-staff10-SMS", notification.Failed)
	roomtest.SaveOf(t, s, "evt-2", roomtest.ToCustomer("evt-2", "7"))
}

func TestFinishEvent(t *testing.T) {
	t.Parallel()

	decisions := map[notification.Decision]int{notification.DecisionSelected: 3, notification.DecisionNoAddress: 3}
	tests := []struct {
		name    string
		success bool
		knows   notification.EventOutcome // the workflow
		problem string
		want    map[notification.Status]int
		status  string
		outcome notification.EventOutcome
	}{
		{name: "success, with something left", success: true, want: map[notification.Status]int{notification.Sent: 1, notification.Failed: 1,
			notification.Pending: 1}, status: "SUCCESS", outcome: notification.Incomplete},
		{name: "nobody, with something left", success: true, knows: notification.NoRecipients,
			want: map[notification.Status]int{notification.Sent: 1, notification.Failed: 1,
				notification.Pending: 1}, status: "SUCCESS", outcome: notification.Incomplete},
		{name: "a problem, with something left", success: true, problem: "p", want: map[notification.Status]int{notification.Sent: 1,
			notification.Failed: 1, notification.Pending: 1}, status: "SUCCESS", outcome: notification.Incomplete},
		{name: "cancelled", problem: "p", knows: notification.EventCancelled, want: map[notification.Status]int{notification.Sent: 1,
			notification.Failed: 1, notification.Cancelled: 1}, status: "FAILED", outcome: notification.EventCancelled},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			planThree(t, s)
			for range 2 { // the second is a repeat
				counts := roomtest.Must(event.On(s).FinishEvent(t.Context(),
					notification.EventEnd{EventID: "evt-1", Success: tt.success, Outcome: tt.knows, Problem: tt.problem}))(t)
				require.Equal(t, notification.Counts{Outcome: tt.outcome, Deliveries: tt.want, Decisions: decisions}, counts)
				require.Equal(t, tt.status, processed(t, s, "evt-1"))
				require.Equal(t, tt.outcome,
					postgrestest.Get[notification.EventOutcome](t, s, "SELECT outcome FROM processed_event WHERE event_id = 'evt-1'"))
			}
			require.Equal(t, "PENDING", roomtest.Delivery(t, s, "evt-2-customer7-EMAIL").Status)
			require.Equal(t, new("before"), roomtest.Delivery(t, s, "evt-1-staff10-SMS").Error, "an earlier failure keeps its reason")
			if !tt.success {
				require.Equal(t, new("cancelled in Temporal"), roomtest.Delivery(t, s, "evt-1-staff11-PUSH").Error)
			}
		})
	}
}

func TestFinishEventWithoutDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, tt := range []struct {
		knows, outcome notification.EventOutcome
		problem        string
	}{
		{knows: notification.NoRouting, problem: "no rows", outcome: notification.NoRouting},
		{problem: "customerId is not in the payload", outcome: notification.EventProblem}, // an operator corrected some rules
		{}, // an operator corrected all rules
	} {
		counts := roomtest.Must(event.On(s).FinishEvent(t.Context(),
			notification.EventEnd{EventID: "evt-1", Success: true, Outcome: tt.knows, Problem: tt.problem}))(t)
		require.Equal(t, notification.Counts{Outcome: tt.outcome, Deliveries: map[notification.Status]int{},
			Decisions: map[notification.Decision]int{}}, counts)
		require.Equal(t, string(tt.outcome)+"|"+tt.problem,
			postgrestest.Get[string](t, s, "SELECT coalesce(outcome, '') || '|' || coalesce(problem, '') FROM processed_event"))
	}
}

// A repeat, whose first answer was lost, may come after an operator began to retry
// deliveries. The event ended complete, and stays so.
func TestFinishEventRepeatedDuringARetry(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	finish := func() notification.EventOutcome {
		return roomtest.Must(event.On(s).FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Success: true}))(t).Outcome
	}
	require.Empty(t, finish())
	postgrestest.Add(t, s.Pool, postgrestest.Delivery{})
	require.Empty(t, finish())
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'PROCESSING'")
	require.Equal(t, notification.Incomplete, finish(), "a new end counts")
	require.Equal(t, notification.Incomplete, finish())
}

// A delivery that an operator retries before the event ends is not incomplete: its retry
// sends it.
func TestFinishEventDuringARetry(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, planThree)
	postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: "evt-1-staff11-PUSH", RunID: "run-1", StatusBefore: notification.Cancelled})

	counts := roomtest.Must(event.On(s).FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Success: true, First: true}))(t)

	require.Empty(t, counts.Outcome)
	require.Equal(t, 1, counts.Deliveries[notification.Pending])
}

// A retry commits while the end of the event waits for the row. The end does not change it.
func TestFinishEventWaitsForARetry(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, planThree)
	tx := postgrestest.OpenTx(t, s, "SELECT FROM notification WHERE delivery_id = 'evt-1-staff11-PUSH' FOR UPDATE")
	postgrestest.Add(t, tx, postgrestest.Retry{DeliveryID: "evt-1-staff11-PUSH", StatusBefore: notification.Pending})
	roomtest.CommitDuring(t, s, tx, func() error {
		return roomtest.ErrOf(event.On(s).FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Outcome: notification.EventCancelled}))
	})
	require.Equal(t, "PENDING", roomtest.Delivery(t, s, "evt-1-staff11-PUSH").Status)
}

// The local activity that ends an event may be lost with its workflow task, and may be
// late. The final result of the event's workflow stays.
func TestFinishEventKeepsTheFinalResult(t *testing.T) {
	t.Parallel()

	first := notification.EventEnd{EventID: "evt-1", Success: true, First: true}
	again := notification.EventEnd{EventID: "evt-1", Success: true}
	cancelled := notification.EventEnd{EventID: "evt-1", Outcome: notification.EventCancelled}
	tests := []struct {
		name   string
		ends   []notification.EventEnd
		ended  []bool // for each end: another end was recorded before
		status string
	}{
		{name: "lost, and repeated", ends: []notification.EventEnd{first, first, again}, ended: []bool{false, true, false}, status: "SUCCESS "},
		{name: "lost, and cancelled before it is repeated", ends: []notification.EventEnd{first, cancelled}, ended: []bool{false, false},
			status: "FAILED CANCELLED"},
		{name: "late, after the event was cancelled", ends: []notification.EventEnd{cancelled, first}, ended: []bool{false, true},
			status: "FAILED CANCELLED"},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			for i, end := range tt.ends {
				_, err := event.On(s).FinishEvent(t.Context(), end)
				if tt.ended[i] {
					require.ErrorIs(t, err, notification.ErrEnded)
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, tt.status, postgrestest.Get[string](t, s, "SELECT status || ' ' || coalesce(outcome, '') FROM processed_event"))
		})
	}
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 2)
	const first = "SELECT acknowledged_at FROM event_outbox WHERE event_id = 'evt-1'"
	require.NoError(t, event.On(s).Acknowledge(t.Context(), "evt-1"))
	at := postgrestest.Get[time.Time](t, s, first)
	require.NoError(t, event.On(s).Acknowledge(t.Context(), "evt-1"), "a repeat")
	require.NoError(t, event.On(s).Acknowledge(t.Context(), "purged"))
	require.Equal(t, at, postgrestest.Get[time.Time](t, s, first))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM event_outbox WHERE acknowledged_at IS NOT NULL"))

	for _, event := range roomtest.Must(event.On(s).ClaimEvents(t.Context(), "poller", 10, time.Minute))(t) {
		require.Equal(t, event.ID == "evt-1", event.Published, event.ID)
	}
}

// At the end of a large event, each statement changes few of its deliveries. One statement
// for a million PENDING deliveries would time out.
func TestEndsOfLargeEventsChangeFewRowsAtOnce(t *testing.T) {
	t.Parallel()

	const all, pending = 30_000, 10_000
	s := postgrestest.New(t)
	roomtest.Emit(t, s, 2)
	// The test does not need the inbox indexes, and writing them takes most of the time.
	postgrestest.Exec(t, s, "DROP INDEX notification_of_user, notification_created_at, notification_inbox_newest, notification_unread_newest")
	plan := func(id string, n, every int) {
		postgrestest.AddMany(t, s.Pool, n, postgrestest.Delivery{EventID: id, SendAfter: time.Now().Add(time.Hour), SentAt: time.Now()},
			postgrestest.Expressions{
				"user_id": "'u' || i", "channel": "CASE WHEN i % 2 = 0 THEN 'SMS' ELSE 'EMAIL' END", "delivery_id": "'" + id + "' || i",
				"status": fmt.Sprintf("CASE WHEN i %% %d = 0 THEN 'PENDING' ELSE 'SENT' END", every),
			})
	}
	plan("evt-1", all, all/pending)
	plan("evt-2", pending, 1)
	changeFew(t, s)

	counts := roomtest.Must(event.On(s).FinishEvent(t.Context(),
		notification.EventEnd{EventID: "evt-1", Outcome: notification.EventFailed}))(t)
	require.Equal(t, map[notification.Status]int{notification.Sent: all - pending, notification.Cancelled: pending}, counts.Deliveries)

	require.True(t, roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t))

	require.True(t, roomtest.Must(event.On(s).WithdrawEvent(t.Context(), "evt-2"))(t))
	require.Equal(t, map[notification.Status]int{notification.Cancelled: pending},
		roomtest.Must(event.On(s).EventCounts(t.Context(), "evt-2"))(t))
}

// changeFew makes the database refuse a statement that changes more than 5,000 deliveries.
func changeFew(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, `
		CREATE FUNCTION change_few() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT count(*) FROM changed) > 5000 THEN RAISE 'one statement changes too many deliveries'; END IF;
			RETURN NULL;
		END $$`)
	postgrestest.Exec(t, s,
		"CREATE TRIGGER change_few AFTER UPDATE ON notification REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "+
			"change_few()")
}
