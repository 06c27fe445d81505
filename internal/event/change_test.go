package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// setEvent sets the status of evt-1 in the outbox, and in processed_event unless that is
// "".
func setEvent(t *testing.T, s *db.DB, outbox notification.OutboxStatus, processed notification.ProcessedStatus) {
	t.Helper()
	postgrestest.Exec(t, s, "DELETE FROM processed_event")
	postgrestest.Exec(t, s, `
		UPDATE event_outbox
		SET    status = $1,
		       attempt_count = 10,
		       published_at = CASE $1 WHEN 'PROCESSED' THEN now() END,
		       error_message = CASE $1 WHEN 'FAILED' THEN 'claimed 10 times' END,
		       lease_owner = NULL,
		       lease_until = NULL
		WHERE  event_id = 'evt-1'`, outbox)
	if processed != "" {
		postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{Status: processed})
	}
}

// Every status in the outbox is checked with every status in processed_event.
func TestRetryEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 2)
	outboxes := []notification.OutboxStatus{notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed}
	endings := []notification.ProcessedStatus{"", notification.Processing, notification.ProcessedSuccess, notification.ProcessedFailed}
	for _, outboxStatus := range outboxes {
		for _, processed := range endings {
			name := string(outboxStatus) + " " + string(processed)
			setEvent(t, s, outboxStatus, processed)
			before := outboxOf(t, s, "evt-1")
			// PENDING with PROCESSING: a poller died before it recorded that it had started
			// the event
			retriable := processed == notification.Processing || processed == notification.ProcessedFailed ||
				(processed == "" && outboxStatus == notification.OutboxFailed)

			got := roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t)

			require.Equal(t, retriable, got, name)
			state := roomtest.Must(event.On(s).EventState(t.Context(), "evt-1"))(t)
			if got {
				before, processed = outboxRow{Status: notification.OutboxPending}, ""
			}
			require.Equal(t, before, outboxOf(t, s, "evt-1"), name)
			require.Equal(t, processed, state.Processed, name)
		}
	}
	require.Equal(t, outboxRow{Status: notification.OutboxPending}, outboxOf(t, s, "evt-2"))

	setEvent(t, s, "FAILED", "")
	roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t)
	require.Contains(t, claim(t, s, "a", 10), "evt-1", "a poller takes it again")
	require.False(t, roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-404"))(t))
}

// An event can begin anew after each end that the rules caused, and after a begin whose
// start was lost. The sweep leaves it alone for a while.
func TestBeginAnew(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	begun := func(status notification.ProcessedStatus, outcome notification.EventOutcome) bool {
		setEvent(t, s, "PROCESSED", status)
		postgrestest.Exec(t, s,
			"UPDATE processed_event SET outcome = nullif($1, ''), problem = 'p', restarts = 2, created_at = now() - interval '1 day'",
			string(outcome))
		anew, begun, err := event.On(s).BeginAnew(t.Context(), "evt-1")
		require.NoError(t, err)
		if begun {
			require.Equal(t, notification.PendingEvent{ID: "evt-1", Source: notification.HeraldSource, Type: anew.Type,
				AggregateType: anew.AggregateType, AggregateID: anew.AggregateID}, anew)
			require.NotEmpty(t, anew.Type)
			require.Equal(t, "PROCESSING||0",
				postgrestest.Get[string](t, s, "SELECT concat_ws('|', status, coalesce(outcome, problem, ''), restarts) FROM processed_event"))
			stuck, _, err := event.On(s).StuckEvents(t.Context(), "", notification.StuckScan{Age: time.Minute, To: time.Now(), Limit: 10})
			require.NoError(t, err)
			require.Empty(t, stuck)
		}
		return begun
	}
	for _, outcome := range append(notification.EventOutcomes(), "") {
		require.Equal(t, outcome.Mendable(), begun(notification.ProcessedSuccess, outcome), outcome)
	}
	require.True(t, begun(notification.Processing, ""))
	require.False(t, begun(notification.ProcessedFailed, notification.EventCancelled))
	require.False(t, begun("", ""), "its row was purged")
	require.Equal(t, notification.OutboxProcessed, outboxOf(t, s, "evt-1").Status, "no poller starts it too")
}

// A cancelled delivery stays cancelled, and its workflow does not wait. A delivery that waits
// continues to wait.
func TestRetryEventWithDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email), roomtest.Planned(notification.Push)))
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() + interval '1 hour', escalates = true")
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Cancelled)
	setEvent(t, s, "PROCESSED", "FAILED")

	require.True(t, roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t))
	require.Equal(t, "CANCELLED", roomtest.Delivery(t, s, roomtest.Mail).Status)
	stored := roomtest.Must(attempt.On(s).Undelivered(t.Context(), "evt-1", 10))(t)
	for _, d := range stored {
		require.Equal(t, d.Channel == notification.Push, d.Waits(), d.DeliveryID)
	}
	require.Len(t, stored, 2)
}

func TestEventState(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	setEvent(t, s, "FAILED", "FAILED")
	postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{ID: "evt-2", Status: notification.ProcessedSuccess})
	for id, want := range map[string]event.EventState{
		"evt-1": {Source: notification.HeraldSource, Outbox: "FAILED", Error: "claimed 10 times", Processed: "FAILED"},
		"evt-2": {Processed: "SUCCESS"},
	} {
		require.Equal(t, want, roomtest.Must(event.On(s).EventState(t.Context(), id))(t))
	}
	require.ErrorIs(t, roomtest.ErrOf(event.On(s).EventState(t.Context(), "evt-404")), notification.ErrNoEvent)
}

// An event can be withdrawn while no poller has claimed it.
func TestWithdrawEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	withdraw := func() bool { return roomtest.Must(event.On(s).WithdrawEvent(t.Context(), "evt-1"))(t) }
	claim(t, s, "a", 1)
	require.False(t, withdraw())
	endLeases(t, s)
	require.True(t, withdraw())
	require.Equal(t, outboxRow{Status: notification.OutboxFailed, Claims: 1, Error: new(event.CancelledByOperator)}, outboxOf(t, s, "evt-1"))
	require.True(t, postgrestest.Get[bool](t, s, "SELECT withdrawn_at IS NOT NULL FROM event_outbox"))
	end(t, s, "a", notification.ClaimStarted, "evt-1")
	require.Equal(t, notification.OutboxFailed, outboxOf(t, s, "evt-1").Status, "a late poller changes nothing")
	require.False(t, withdraw(), "once")
	require.True(t, roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t))
	require.True(t, postgrestest.Get[bool](t, s, "SELECT withdrawn_at IS NULL FROM event_outbox"))
	setEvent(t, s, "PROCESSED", "SUCCESS")
	require.False(t, withdraw())
}

// An event that an operator retried has deliveries of its first run. If the event is withdrawn, no
// digest may send deliveries without a workflow.
func TestWithdrawEventWithDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email), roomtest.Planned(notification.Push)))
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Sent)
	roomtest.AddItems(t, s.Pool, roomtest.ReviewMails, 2, 2, 10) // of another event
	setEvent(t, s, "PROCESSED", "PROCESSING")
	roomtest.Must(event.On(s).RetryEvent(t.Context(), "evt-1"))(t)

	require.True(t, roomtest.Must(event.On(s).WithdrawEvent(t.Context(), "evt-1"))(t))
	require.Equal(t, map[notification.Status]int{notification.Sent: 1, notification.Cancelled: 1},
		roomtest.Must(event.On(s).EventCounts(t.Context(), "evt-1"))(t))
	require.Equal(t, "PENDING", roomtest.Delivery(t, s, roomtest.Item(2)).Status)
}
