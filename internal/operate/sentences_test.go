package operate

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
	"herald/workflows"
)

var (
	errBroken = errors.New("broken")
	errEnded  = &temporal.WorkflowExecutionError{} // of a workflow that was cancelled
	errGone   = serviceerror.NewNotFound("workflow execution already completed")
)

const evt2CancelsEvt1 = `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels)
	VALUES ('evt-2', 'T', 'CUSTOMER', '1', '{}', 'evt-1')`

func TestEachCodeHasASentence(t *testing.T) {
	t.Parallel()

	for code := Failed; code <= AnswerNotStored; code++ {
		require.NotEmpty(t, code.Result(), code)
	}
	require.Len(t, sentences, int(AnswerNotStored))
}

// Every sentence about a delivery: of a dry run, of a run, and of a refusal.
func TestSentencesOfDeliveries(t *testing.T) {
	t.Parallel()

	d, s := newDesk(t), &transcript{t: t}
	s.cancelDelivery(d)
	s.endEscalation(d)
	s.retryDelivery(d)
	s.signal(d)
	s.batches(d)
	s.withdrawnDeliveries(d)
	for _, id := range []string{"d404", "digest-404"} {
		s.run("that does not exist", d, CancelDelivery(), id)
	}
	s.compare("deliveries")
}

// at begins a case: a delivery of the status, and its workflow.
func (d *desk) at(status notification.Status, workflow enums.WorkflowExecutionStatus) {
	d.t.Helper()
	d.reset(status)
	d.workflow("d1", workflow)
}

func (s *transcript) cancelDelivery(d *desk) {
	for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled} {
		d.at(status, completed)
		s.both("cancel: "+string(status), d, CancelDelivery(), "d1")
	}
	d.at(notification.Pending, unknown)
	s.both("cancel: no workflow", d, CancelDelivery(), "d1")

	const attempt = ", attempt_owner = 'w', attempt_until = now() + interval '1 hour', attempt_began = now()"
	for _, c := range []struct {
		name, sql string
		after     notification.Status
	}{
		{"runs", "", notification.Cancelled},
		{"was sent meanwhile", "", notification.Sent},
		{"failed meanwhile", "", notification.Failed},
		{"does not end", "", notification.Pending},
		{"does not end, attempt", attempt, notification.Pending},
		{"does not end, attempt at its digest", attempt + ", digest_id = 'digest-1'", notification.Pending},
		{"ends during an attempt", attempt, notification.Cancelled},
	} {
		d.at(notification.Pending, running)
		d.cancels("d1", ends(func() { d.exec(`UPDATE notification SET status = $1`+c.sql, string(c.after)) }, errEnded))
		s.both("cancel: "+c.name, d, CancelDelivery(), "d1")
		d.exec(`UPDATE notification SET attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL, digest_id = NULL`)
	}
	d.at(notification.Pending, unknown)
	d.exec(`UPDATE notification SET attempt_count = 1` + attempt)
	s.run("cancel: no workflow, attempt", d, CancelDelivery(), "d1")
	d.exec(`UPDATE notification SET attempt_count = 0, attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL`)
	d.at(notification.Pending, running)
	d.server.On("CancelWorkflowWithOptions", mock.Anything, mock.Anything).Return(errBroken)
	s.run("cancel: broken", d, CancelDelivery(), "d1")
}

func (s *transcript) endEscalation(d *desk) {
	const follower = "d1-escalation"
	d.exec("UPDATE notification SET escalates = true")
	d.at(notification.Sent, completed)
	d.workflow(follower, completed)
	s.run("cancel: escalation has ended", d, CancelDelivery(), "d1")
	d.at(notification.Sent, completed)
	d.workflow(follower, running)
	d.server.On("GetWorkflow", mock.Anything, follower, "").Return(ends(func() {}, nil))
	s.both("cancel: escalates", d, CancelDelivery(), "d1")
	d.exec("UPDATE notification SET escalates = true")
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, escalated_from)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'SMS', 'd 2', 'title', 'body', 'd1')`)
	s.both("cancel: followed", d, CancelDelivery(), "d1")
	d.exec("DELETE FROM notification WHERE delivery_id = 'd 2'")
	d.exec("UPDATE notification SET escalates = false")
}

func (s *transcript) retryDelivery(d *desk) {
	retry, again := RetryDelivery(false, time.Minute), RetryDelivery(true, time.Minute)
	d.at(notification.Sent, completed)
	s.both("retry: sent", d, retry, "d1")
	d.at(notification.Failed, completed)
	d.exec("UPDATE notification SET expires_at = '2026-11-21T09:00:00Z'")
	s.both("retry: expired", d, retry, "d1")
	d.exec("UPDATE notification SET expires_at = NULL")
	d.at(notification.Pending, running)
	s.both("retry: under way", d, retry, "d1")

	faster := serviceerror.NewWorkflowExecutionAlreadyStarted("running", "", "")
	for _, c := range []struct {
		name   string
		verb   Verb
		before notification.Status
		after  notification.Status // empty: the workflow does not end
		answer error
	}{
		{"sends", retry, notification.Failed, notification.Sent, nil},
		{"sends again", again, notification.Delivered, notification.Sent, nil},
		{"fails", retry, notification.Cancelled, notification.Failed, nil},
		{"is cancelled", retry, notification.Failed, notification.Cancelled, nil},
		{"is terminated", retry, notification.Failed, notification.Pending, nil},
		{"does not end", retry, notification.Failed, "", nil},
		{"another was faster", retry, notification.Failed, notification.Sent, faster},
		{"broken", retry, notification.Failed, notification.Sent, errBroken},
	} {
		d.at(c.before, terminated)
		d.starts(ends(func() { d.setStatus(c.after) }, nil), c.answer)
		if c.after == "" {
			d.useUpWaits()
		}
		s.both("retry: "+c.name, d, c.verb, "d1")
	}
	s.retryReminder(d)
}

// retryReminder retries a delivery that waits for its own time, and a delivery to an erased person.
func (s *transcript) retryReminder(d *desk) {
	d.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
		VALUES ('T', 'EMAIL', 'DELAYED', 'at')`)
	far := time.Now().AddDate(5, 0, 0).UTC().Truncate(time.Second)
	s.far = notification.InstantText(far)
	d.exec(`UPDATE event_outbox SET payload = jsonb_build_object('at', $1::text)`, far.Format(time.RFC3339))
	d.at(notification.Cancelled, completed)
	d.starts(hangs(), nil)
	s.both("retry: waits", d, RetryDelivery(false, time.Millisecond), "d1")
	d.exec(`DELETE FROM event_type_channel_routing`)
	d.exec("INSERT INTO erased_recipient (user_type, user_id, erased_at) VALUES ('CUSTOMER', '1', '2026-11-21T09:00:00Z')")
	s.both("retry: erased", d, RetryDelivery(false, 0), "d1")
	d.exec("DELETE FROM erased_recipient")
}

func (s *transcript) signal(d *desk) {
	for _, status := range []notification.Status{notification.Pending, notification.Sent, notification.Failed, notification.Cancelled} {
		d.at(status, terminated)
		s.both("send-now: "+string(status), d, SendNow(), "d1")
	}
	for _, answer := range []error{nil, errGone, errBroken} {
		d.at(notification.Pending, running)
		d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.SendNow, nil).Return(answer).Once()
		s.both("send-now: its workflow runs", d, SendNow(), "d1")
	}
	d.exec(`INSERT INTO recipient (user_type, user_id, timezone) VALUES ('CUSTOMER', '1', 'Europe/Rome')`)
	d.exec(`INSERT INTO user_notification_preferences
		(user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		VALUES ('CUSTOMER', '1', 'EMAIL', true, '22:00', '08:00')`)
	d.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')`)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, until := range []time.Time{noon, noon.Add(11 * time.Hour)} {
		d.at(notification.Pending, running)
		d.server.On("SignalWorkflow", mock.Anything, "d1", "", workflows.Reschedule, until).Return(nil).Once()
		s.both("reschedule", d, must(Reschedule(until, until.Add(-time.Hour)))(s.t), "d1")
	}
	d.exec(`DELETE FROM event_type_channel_routing`)
	for _, until := range []time.Time{noon, noon.AddDate(2, 0, 0)} {
		_, err := Reschedule(until, noon)
		s.failure("reschedule", err)
	}
	_, err := DeliveryNumber("x")
	s.failure("delivery number", err)
}

func (s *transcript) batches(d *desk) {
	for _, verb := range []Verb{SendNow(), RetryDelivery(false, 0)} {
		d.reset(notification.Pending)
		d.batch(notification.IDRange{First: 1, Last: 1000})
		s.both("in a batch: "+verb.Name, d, verb, "d1")
	}
}

func (s *transcript) withdrawnDeliveries(d *desk) {
	d.exec(evt2CancelsEvt1)
	for _, verb := range []Verb{CancelDelivery(), RetryDelivery(false, 0), SendNow()} {
		d.at(notification.Cancelled, canceled)
		s.both("withdrawn: "+verb.Name, d, verb, "d1")
	}
	d.exec(`DELETE FROM event_outbox WHERE event_id = 'evt-2'`)
}

// Every sentence about an event.
func TestSentencesOfEvents(t *testing.T) {
	t.Parallel()

	d, s := newDesk(t), &transcript{t: t}
	s.cancelEvent(d)
	s.retryEvent(d)
	s.answerEvent(d)
	d.reset(notification.Pending)
	s.run("that does not exist", d, RetryEvent(false), "e404")
	s.compare("events")
}

// eventAt begins a case: the rows of event evt-1, and its workflow. An empty status is no row.
func (d *desk) eventAt(
	outbox notification.OutboxStatus, processed notification.ProcessedStatus, outcome notification.EventOutcome,
	workflow enums.WorkflowExecutionStatus,
) {
	d.t.Helper()
	d.reset(notification.Sent)
	d.workflow("evt-1", workflow)
	d.exec("DELETE FROM event_outbox")
	d.exec("DELETE FROM processed_event")
	if outbox != "" {
		d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, error_message, published_at)
			VALUES ('evt-1', 'T', 'CUSTOMER', '1', '{}', $1, 'why', CASE $1 WHEN 'PROCESSED' THEN now() END)`, string(outbox))
	}
	if processed != "" {
		d.exec(`INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', $1, nullif($2, ''))`, string(processed), string(outcome))
	}
}

func (s *transcript) cancelEvent(d *desk) {
	d.eventAt(notification.OutboxPending, "", "", unknown)
	s.both("cancel: not started", d, CancelEvent(), "evt-1")
	d.eventAt(notification.OutboxPending, "", "", unknown)
	d.exec("UPDATE event_outbox SET cancels = 'evt-0'")
	s.both("cancel: not started, cancels another", d, CancelEvent(), "evt-1")
	for _, c := range []struct {
		name string
		end  *mocks.WorkflowRun // nil: it does not end
	}{{"runs", ends(func() {}, errEnded)}, {"completed before", ends(func() {}, nil)}, {"does not end", nil}} {
		d.eventAt(notification.OutboxProcessed, notification.Processing, "", running)
		d.cancels("evt-1", c.end)
		if c.end == nil {
			d.useUpWaits()
		}
		s.both("cancel: "+c.name, d, CancelEvent(), "evt-1")
	}
	d.eventAt(notification.OutboxProcessed, notification.Processing, "", running)
	d.exec("UPDATE event_outbox SET cancels = 'evt-0'")
	s.one("cancel: runs, cancels another, dry run", d, CancelEvent(), "evt-1", true)
	for _, processed := range []notification.ProcessedStatus{
		notification.ProcessedSuccess, notification.ProcessedFailed, notification.Processing,
	} {
		d.eventAt(notification.OutboxProcessed, processed, "", unknown)
		s.both("cancel: "+string(processed), d, CancelEvent(), "evt-1")
	}
	d.eventAt(notification.OutboxFailed, "", "", unknown)
	s.both("cancel: never started", d, CancelEvent(), "evt-1")
	d.exec("DELETE FROM notification")
	d.eventAt(notification.OutboxProcessed, notification.ProcessedSuccess, "", unknown)
	s.both("cancel: without deliveries", d, CancelEvent(), "evt-1")
	d.exec(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		VALUES ('evt-1', 'T', 'CUSTOMER', '1', 'EMAIL', 'd1', 'title', 'body')`)
}

func (s *transcript) retryEvent(d *desk) {
	const done, success = notification.OutboxProcessed, notification.ProcessedSuccess
	for _, c := range []struct {
		name      string
		outbox    notification.OutboxStatus
		processed notification.ProcessedStatus
		outcome   notification.EventOutcome
		workflow  enums.WorkflowExecutionStatus
		bulk      bool
	}{
		{name: "purged", processed: notification.ProcessedFailed},
		{name: "incomplete", outbox: done, processed: success, outcome: notification.Incomplete, workflow: completed},
		{name: "succeeded", outbox: done, processed: success, workflow: completed},
		{name: "under way", outbox: done, processed: notification.Processing, workflow: running},
		{name: "rejected", outbox: done, processed: notification.ProcessedFailed, outcome: notification.EventRejected, workflow: canceled},
		{name: "completed", outbox: done, workflow: completed},
		{name: "pending", outbox: notification.OutboxPending},
		{name: "cancelled, in bulk", outbox: done, processed: notification.ProcessedFailed, workflow: canceled, bulk: true},
		{name: "ended", outbox: done},
		{name: "failed", outbox: done, processed: notification.ProcessedFailed, workflow: canceled},
	} {
		d.eventAt(c.outbox, c.processed, c.outcome, c.workflow)
		s.both("retry: "+c.name, d, RetryEvent(c.bulk), "evt-1")
	}
	d.eventAt(done, notification.ProcessedFailed, "", canceled)
	d.setStatus(notification.Cancelled)
	s.both("retry: cancelled deliveries", d, RetryEvent(false), "evt-1")
	d.exec(evt2CancelsEvt1)
	s.both("retry: cancelled by another", d, RetryEvent(false), "evt-1")

	for _, answer := range []error{nil, errBroken} {
		d.eventAt(done, success, notification.NoRouting, completed)
		d.starts(nil, answer)
		s.both("retry: told nobody", d, RetryEvent(false), "evt-1")
	}
	d.eventAt(done, success, notification.NoRouting, completed)
	d.exec("UPDATE event_outbox SET source = 'orders'")
	s.both("retry: unknown source", d, RetryEvent(false), "evt-1")

	d.eventAt(done, notification.ProcessedFailed, "", canceled) // another operator is faster
	d.exec("UPDATE processed_event SET status = 'SUCCESS'")
	change := eventChange{Operator: d.Operator, id: "evt-1"}
	s.outcome("event retry: changed meanwhile", must(change.retry(s.t.Context()))(s.t))
	s.outcome("event retry: changed meanwhile, planned", must(change.planAnew(s.t.Context()))(s.t))
}

func (s *transcript) answerEvent(d *desk) {
	waits := func(workflow enums.WorkflowExecutionStatus) {
		d.eventAt(notification.OutboxProcessed, notification.Processing, notification.AwaitingApproval, workflow)
		d.exec("DELETE FROM event_approval")
		d.exec("INSERT INTO event_approval (event_id) VALUES ('evt-1')")
	}
	answered := func(answer, by string) {
		d.exec("UPDATE event_approval SET answer = $1, answered_by = $2, answered_at = '2026-11-21T10:00:00Z'", answer, by)
	}
	signals := func(err error, then func()) {
		d.server.On("SignalWorkflow", mock.Anything, "evt-1", "", workflows.Approve, mock.Anything).Return(err).
			Run(func(mock.Arguments) { then() })
	}
	d.eventAt(notification.OutboxProcessed, notification.ProcessedSuccess, "", completed)
	s.both("approve: does not wait", d, ApproveEvent(), "evt-1")
	waits(running)
	answered("REJECTED", "eve")
	s.both("approve: answered", d, ApproveEvent(), "evt-1")
	waits(canceled)
	d.exec("UPDATE processed_event SET status = 'FAILED'")
	s.both("approve: ended", d, ApproveEvent(), "evt-1")
	waits(running)
	d.exec("INSERT INTO operator_action (actor, command, target) VALUES ('ada', 'emit', 'evt-1')")
	s.both("approve: own event", d, ApproveEvent(), "evt-1")
	d.exec("DELETE FROM operator_action")
	waits(terminated)
	s.both("approve: no workflow", d, ApproveEvent(), "evt-1")
	for _, verb := range []Verb{ApproveEvent(), RejectEvent()} {
		waits(running)
		signals(nil, func() { answered(map[string]string{"approve": "APPROVED", "reject": "REJECTED"}[verb.Name], "ada") })
		s.both(verb.Name+": waits", d, verb, "evt-1")
	}
	waits(running)
	signals(nil, func() { answered("REJECTED", "eve") })
	s.run("approve: another was faster", d, ApproveEvent(), "evt-1")
	waits(running)
	signals(nil, func() { d.exec("DELETE FROM event_approval") })
	s.run("approve: purged meanwhile", d, ApproveEvent(), "evt-1")
	s.outcome("event approve: not answered in time", Outcome{ID: "evt-1", Code: AnswerNotStored})
	for _, err := range []error{errGone, errBroken} {
		waits(running)
		signals(err, func() {})
		s.run("approve: ended meanwhile", d, ApproveEvent(), "evt-1")
	}
}
