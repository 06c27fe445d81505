package operate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"herald/internal/attempt"
	"herald/internal/escalation"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/workflows"
)

// A dry run and a retry both tell that a reminder waits for its send time again.
func TestRetryOfAReminderSaysThatItWaits(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
		VALUES ('T', 'EMAIL', 'DELAYED', 'at')`)
	at := time.Now().AddDate(5, 0, 0).UTC().Truncate(time.Second)
	d.exec(`UPDATE event_outbox SET payload = jsonb_build_object('at', $1::text)`, at.Format(time.RFC3339))
	d.reset(notification.Cancelled)
	d.workflow("d1", completed)
	d.starts(hangs(), nil)

	retry := RetryDelivery(false, time.Millisecond)
	for _, outcome := range []Outcome{d.dryRun(retry, "d1"), d.run(retry, "d1")} {
		said := outcome.Detail()
		require.Contains(t, said, "waits until its due time, "+notification.InstantText(at))
		require.Contains(t, said, "`starter delivery send-now d1`")
	}
}

// Every status that a delivery can have after a cancellation of its workflow.
func TestCancelDelivery(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	tests := []struct {
		after notification.Status
		done  bool
		want  string
	}{
		{after: notification.Cancelled, done: true, want: "cancelled"},
		{after: notification.Sent, want: wasSent},
		{after: notification.Delivered, want: wasSent},
		{after: notification.Failed, want: "has failed: why"},
		{after: notification.Pending, done: true, want: "cancelled: in the table, because its workflow has not ended it"},
	}
	for _, tt := range tests {
		d.reset(notification.Pending)
		d.workflow("d1", running)
		d.cancels("d1", ends(func() { d.setStatus(tt.after) }, &temporal.WorkflowExecutionError{}))

		got := d.run(CancelDelivery(), "d1")

		require.Equal(t, tt.want, got.String(), tt.after)
		require.Equal(t, tt.done, got.Done(), tt.after)
	}
}

// While an attempt at its digest is in flight, a delivery keeps its row. Its workflow cancels it later.
func TestCancelDeliveryInDigest(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.reset(notification.Pending)
	d.exec("UPDATE notification SET digest_id = 'digest-1', attempt_owner = 'w', attempt_until = now() + interval '1 hour', attempt_began = " +
		"now()")
	d.workflow("d1", running)
	d.cancels("d1", ends(func() {}, &temporal.WorkflowExecutionError{}))

	require.Equal(t, "cancellation accepted: an attempt is under way; `starter delivery show d1` shows how it ends",
		d.run(CancelDelivery(), "d1").String())
}

// If the workflow of a pending delivery does not run, only the row is cancelled. A delivery that
// has ended stays as it is.
func TestCancelDeliveryWithoutWorkflow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	for before, want := range map[notification.Status]string{
		notification.Pending:   "cancelled: only in the table, because it had no running workflow",
		notification.Cancelled: "was cancelled: why",
		notification.Failed:    "has failed: why",
		notification.Sent:      wasSent,
	} {
		for _, status := range []enums.WorkflowExecutionStatus{unknown, completed, terminated} {
			d.reset(before)
			d.workflow("d1", status)

			require.Equal(t, want, d.run(CancelDelivery(), "d1").String())
		}
	}
}

// Cancelling a sent delivery recalls nothing, but ends its escalation.
func TestCancelDeliveryEndsItsEscalation(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("UPDATE notification SET escalates = true")
	const follower = "d1-escalation"
	for _, status := range []enums.WorkflowExecutionStatus{unknown, completed} {
		d.reset(notification.Sent)
		d.workflow(follower, status)
		require.Equal(t, wasSent, d.run(CancelDelivery(), "d1").String())
	}
	for _, sent := range []notification.Status{notification.Sent, notification.Delivered} {
		d.exec("UPDATE notification SET escalates = true")
		d.exec("DELETE FROM delivery_follow_up")
		d.reset(sent)
		d.workflow(follower, running)
		d.server.On("GetWorkflow", mock.Anything, follower, "").Return(ends(func() {}, nil)).Once()

		require.Equal(t, "its escalation would end: the sent message cannot be recalled", d.dryRun(CancelDelivery(), "d1").String())
		got := d.run(CancelDelivery(), "d1")

		require.True(t, got.Done())
		require.Equal(t, "its escalation has ended: nothing follows; the sent message cannot be recalled", got.String())
		require.True(t,
			must(escalation.On(d.DB).Escalating(t.Context(), notification.EscalationKey{DeliveryID: "d1", To: notification.SMS}))(t).Ended)
		rows := must(escalation.On(d.DB).FollowUps(t.Context(),
			[]notification.FollowUpKind{notification.FollowUpDeadLetter, notification.FollowUpEscalation}, 10))(t)
		require.Len(t, rows, 1)
		require.Equal(t, notification.FollowUpKind("ESCALATION"), rows[0].Kind)
		require.Equal(t, wasSent, d.run(CancelDelivery(), "d1").String(), "once")
	}

	d.exec("UPDATE notification SET escalates = true")
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, escalated_from)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'SMS', 'd2', 'title', 'body', 'd1')`)
	refused := d.run(CancelDelivery(), "d1")
	require.False(t, refused.Done())
	require.Contains(t, refused.Next(), "`starter delivery cancel d2`")
	require.False(t, must(escalation.On(d.DB).EndEscalation(t.Context(), "d1"))(t))
}

func TestRetryDelivery(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	started := "started: `starter delivery show d1` shows how it ends"
	faster := serviceerror.NewWorkflowExecutionAlreadyStarted("running", "", "") // another operator has retried it
	tests := []struct {
		name   string
		before notification.Status
		again  bool
		answer error
		after  notification.Status // empty: the workflow does not end
		done   bool
		want   string
	}{
		{name: "sent after it failed", before: notification.Failed, after: notification.Sent, done: true, want: "sent: 2026-11-21 08:00:00.000Z"},
		{name: "sent after it was cancelled", before: notification.Cancelled, after: notification.Sent, done: true,
			want: "sent: 2026-11-21 08:00:00.000Z"},
		{name: "sent twice", before: notification.Delivered, again: true, after: notification.Sent, done: true,
			want: "sent: 2026-11-21 08:00:00.000Z"},
		{name: "failed once more", before: notification.Pending, after: notification.Failed, want: "has failed: why"},
		{name: "cancelled meanwhile", before: notification.Pending, after: notification.Cancelled, want: "was cancelled: why"},
		{name: "terminated meanwhile", before: notification.Pending, after: notification.Pending, done: true, want: started},
		{name: "not yet ended", before: notification.Pending, done: true, want: started},
		{name: "another operator retried it first", before: notification.Pending, answer: faster,
			want: "is under way: its workflow runs; it is PENDING after 0 attempts"},
	}
	for _, tt := range tests {
		d.reset(tt.before)
		d.workflow("d1", terminated)
		d.starts(ends(func() { d.setStatus(tt.after) }, nil), tt.answer)
		if tt.after == "" {
			d.useUpWaits()
		}

		got := d.run(RetryDelivery(tt.again, time.Minute), "d1")

		require.Equal(t, tt.want, got.String(), tt.name)
		require.Equal(t, tt.done, got.Done(), tt.name)
	}

	for _, sent := range []notification.Status{notification.Sent, notification.Delivered} {
		d.reset(sent)
		got := d.run(RetryDelivery(false, time.Minute), "d1")
		require.Equal(t, wasSent, got.String())
		require.Contains(t, got.Next(), "--again")
	}
}

// The row may say FAILED a moment before the workflow ends.
func TestRetryDeliveryWaitsForTheLastRun(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.setStatus(notification.Failed)
	d.describes("d1", running).Twice()
	d.describes("d1", completed)
	d.starts(ends(func() { d.setStatus(notification.Sent) }, nil), nil)

	require.Equal(t, "sent", d.run(RetryDelivery(false, time.Minute), "d1").Code.Result())
}

func TestSignal(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	ended := serviceerror.NewNotFound("ended between the look and the signal")
	tests := []struct {
		name     string
		before   notification.Status
		workflow enums.WorkflowExecutionStatus
		signals  bool
		answer   error
		want     string
	}{
		{name: "waits", before: notification.Pending, workflow: running, signals: true, want: "sending now"},
		{name: "has ended meanwhile", before: notification.Pending, workflow: running, signals: true, answer: ended,
			want: "has no running workflow: it has ended, or was not started yet"},
		{name: "no workflow", before: notification.Pending, workflow: terminated,
			want: "has no running workflow: it has ended, or was not started yet"},
		{name: "about to end as failed", before: notification.Failed, workflow: running, want: "has failed: why"},
		{name: "about to end as cancelled", before: notification.Cancelled, workflow: running, want: "was cancelled: why"},
		{name: "about to end as sent", before: notification.Sent, workflow: running, want: wasSent},
	}
	for _, tt := range tests {
		d.reset(tt.before)
		d.workflow("d1", tt.workflow)
		if tt.signals {
			d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.SendNow, nil).Return(tt.answer).Once()
		}

		require.Equal(t, tt.want, d.run(SendNow(), "d1").String(), tt.name)
	}
}

// The order is in the row before the workflow gets the signal, so a workflow that is lost and started
// again obeys it.
func TestSignalsAreInTheRow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond)
	look := func() notification.Verdict {
		return must(attempt.On(d.DB).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: []string{"d1"}, StatusOnly: true}))(t)[0].Verdict
	}
	d.reset(notification.Pending)
	d.workflow("d1", running)
	d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.Reschedule, tomorrow).Return(nil).Once().Run(func(mock.Arguments) {
		require.WithinDuration(t, tomorrow, look().NotBefore, 0)
	})
	require.Equal(t, "rescheduled", d.run(must(Reschedule(tomorrow, time.Now()))(t), "d1").Code.Result())

	d.workflow("d1", running)
	d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.SendNow, nil).Return(nil).Once().Run(func(mock.Arguments) {
		require.Zero(t, look())
	})
	require.Equal(t, "sending now", d.run(SendNow(), "d1").Code.Result())
}

func TestRescheduleWarnsOfQuietHours(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec(`INSERT INTO recipient (user_type, user_id, timezone) VALUES ('CUSTOMER', '1', 'Europe/Rome')`)
	d.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start,
		quiet_hours_end)
		VALUES ('CUSTOMER', '1', 'EMAIL', true, '22:00', '08:00')`)
	d.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')`)
	noon, night := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	tests := []struct {
		name, action string
		until        time.Time
		want         string
	}{
		{name: "by day", action: "DROP", until: noon, want: "rescheduled: waits until 2026-11-22 12:00:00.000Z"},
		{name: "at night, dropped", action: "DROP", until: night, want: "08:00 Europe/Rome, and it is dropped then"},
		{name: "at night, deferred", action: "DEFER", until: night, want: "08:00 Europe/Rome, and it waits until then"},
	}
	for _, tt := range tests {
		d.reset(notification.Pending)
		d.workflow("d1", running)
		d.exec(`UPDATE event_type_channel_routing SET quiet_hours_action = $1`, tt.action)
		d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.Reschedule, tt.until).Return(nil).Once()

		verb := must(Reschedule(tt.until, tt.until.Add(-time.Hour)))(t)
		require.Contains(t, d.run(verb, "d1").String(), tt.want, tt.name)
	}
}

// Nothing is sent to an erased person again, so no dry run and no advice promises it.
func TestRetryDeliveryOfAnErasedPerson(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("INSERT INTO erased_recipient (user_type, user_id) VALUES ('CUSTOMER', '1')")
	for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled} {
		d.reset(status)
		d.workflow("d1", completed)
		for _, again := range []bool{false, true} {
			verb := RetryDelivery(again, time.Minute)
			planned, retried := d.dryRun(verb, "d1"), d.run(verb, "d1")
			require.Equal(t, planned, retried)
			require.Equal(t, "is to a person who was erased", retried.Code.Result())
		}
	}
}

// A delivery can wait for a year. A longer wait is probably a typing error.
func TestRescheduleWithinAYear(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for until, want := range map[time.Time]string{
		now: "is past", now.Add(-time.Hour): "is past", now.Add(time.Second): "", now.AddDate(1, 0, 0): "",
		now.AddDate(1, 0, 0).Add(time.Second): "more than a year", now.AddDate(7000, 0, 0): "more than a year",
	} {
		_, err := Reschedule(until, now)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// Deliveries that are planned after the selection was made are left out.
func TestSelectDeliveries(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	selection := must(d.SelectDeliveries(t.Context(), list.DeliveryFilter{EventID: "evt-1"}, ""))(t)
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'SMS', 'd2', 'title', 'body')`)

	require.Equal(t, 1, selection.Matched)
	page := must(selection.page(t.Context(), "", 10))(t)
	require.Len(t, page, 1)
	require.Equal(t, "d1", page[0].id)
	page = must(selection.page(t.Context(), page[0].key, 10))(t)
	require.Empty(t, page)
}
