package e2e_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// oneRow is the condition for the row of one recipient.
const oneRow = "user_id = '7'"

// inFlight is the number of messages of a part that may be sent after it was stopped.
const inFlight = 20

// stoppedPart is a part of a broadcast that an operator stops in Temporal.
type stoppedPart struct {
	*broadcast
	workflow string
	rows     string // the condition for the part's rows
	sent     int    // messages of the part that were sent before the stop
	swept    bool   // only the sweep cancels the rows
}

// An operator cancels or terminates every kind of part of events with 50, 150 and 1,500 recipients, also
// after a reset of the event. Until two sweeps have passed, the provider gets only the messages of a
// stopped part that were in flight, and each other message once. All events and lanes end. If an event was
// reset and then terminated, its deliveries continue until the first sweep. A cancellation follows a reset
// to the last workflow task, because Temporal knows the children there. A termination follows a reset to
// the first.
func TestStoppedParts(t *testing.T) {
	t.Parallel()

	const large = 1500
	parts := map[int][]string{50: {"event", "delivery"}, 150: {"event", "lane", "page", "delivery"}, large: {"event", "lane", "batch"}}
	tasks := map[string]func([]int64) int64{"cancel": slices.Max[[]int64], "terminate": slices.Min[[]int64]}
	s := newSystem(t)
	s.customers(large)
	s.fill(postgrestest.Template{Title: "News", Body: "For {{.recipient.user_id}}"})
	slow := s.with("EMAIL_RATE_LIMIT=2").startAll(mailWorker...)
	s.scheduled()

	var stopped []*stoppedPart
	for recipients, kinds := range parts {
		for _, kind := range kinds {
			for how, task := range tasks {
				for _, reset := range []bool{false, true} {
					p := s.begin(fmt.Sprintf("%s-%s-%d-%t", how, kind, recipients, reset), recipients, 0).part(kind)
					if reset {
						s.reset(p.event, task)
						s.eventually(func() bool { return s.continues(p.event) }, "%s does not continue", p.event)
					}
					p.stop(how)
					stopped = append(stopped, p)
				}
			}
		}
	}
	for _, p := range stopped {
		p.eventually(func() bool { return p.swept || p.having(p.rows+` AND status = 'PENDING'`) == 0 }, "%s: rows are PENDING", p.workflow)
	}
	require.Zero(t, s.sweepAll().StartedAgain)
	for _, p := range stopped {
		if p.swept {
			p.sent = p.having(`status = 'SENT' AND ` + p.rows)
		}
	}
	require.NoError(t, slow.stop(), "%s", slow.output)
	s.startWorker(mailWorker...)
	s.awaitEnds()
	require.Zero(t, s.sweepAll().StartedAgain)
	accepted := s.accepted()
	for _, p := range stopped {
		p.requireStopped(accepted)
		p.eventually(func() bool { return !p.runs(p.lane()) }, "%s still runs", p.lane())
	}
}

// awaitEnds waits until no event is open. It hastens the events that wait for a workflow with the id of
// their child, because they look seldom.
func (s *system) awaitEnds() {
	s.t.Helper()
	var open []string
	s.eventually(func() bool {
		open = nil
		for _, event := range s.deliveries(`SELECT event_id FROM processed_event WHERE status = 'PROCESSING' ORDER BY event_id`) {
			s.retryNow(event, "AwaitHolder")
			open = append(open, s.progress(event))
		}
		return len(open) == 0
	}, "events are still PROCESSING: %v", &open)
}

// retryNow makes Temporal begin the next attempt of an activity at once, if an attempt has failed. A reset before
// the attempt begins delays it, so a loop of resets would delay it for ever.
func (s *system) retryNow(workflow, activity string) {
	if !slices.ContainsFunc(s.pending(workflow), func(pending *workflowpb.PendingActivityInfo) bool {
		return pending.GetActivityType().GetName() == activity && pending.GetAttempt() > 1
	}) {
		return
	}
	_, err := s.temporal.WorkflowService().ResetActivity(s.t.Context(), &workflowservice.ResetActivityRequest{
		Namespace: client.DefaultNamespace, Execution: &commonpb.WorkflowExecution{WorkflowId: workflow},
		Activity: &workflowservice.ResetActivityRequest_Type{Type: activity},
	})
	if !launch.IsNotFound(err) { // the activity may have ended meanwhile
		require.NoError(s.t, err)
	}
}

// progress returns the status of a workflow, and what it waits for.
func (s *system) progress(id string) string {
	described, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
	if err != nil {
		return fmt.Sprintf("%s: %v", id, err)
	}
	text := fmt.Sprintf("%s is %s", id, described.Status)
	for _, activity := range described.RawResponse.GetPendingActivities() {
		text += fmt.Sprintf(", in attempt %d of %s (%s)", activity.GetAttempt(), activity.GetActivityType().GetName(),
			activity.GetLastFailure().GetMessage())
	}
	for _, child := range described.RawResponse.GetPendingChildren() {
		text += ", waits for " + child.GetWorkflowId()
	}
	return text
}

// runs reports whether a workflow runs.
func (s *system) runs(id string) bool {
	described, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
	return err == nil && described.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// sweepAll runs a sweep that looks at all rows.
func (s *system) sweepAll() notification.Sweep {
	s.t.Helper()
	s.exec(`UPDATE processed_event SET created_at = created_at - interval '1 hour'`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '1 hour'`)
	return s.sweep()
}

// reset makes a workflow repeat one of its workflow tasks, and everything after it.
func (s *system) reset(id string, task func(all []int64) int64) {
	s.t.Helper()
	var tasks []int64
	s.eventually(func() bool { // an event stores its rows during its first task
		tasks = s.tasks(id)
		return len(tasks) > 0
	}, "%s completes no workflow task", id)
	_, err := s.temporal.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
		Reason: "test", WorkflowTaskFinishEventId: task(tasks), RequestId: uuid.NewString(),
	})
	require.NoError(s.t, err)
}

// tasks returns the completed workflow tasks of a workflow.
func (s *system) tasks(id string) (completed []int64) {
	s.t.Helper()
	for _, event := range s.history(id).GetEvents() {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			completed = append(completed, event.GetEventId())
		}
	}
	return completed
}

// continues reports whether an event that was reset runs its children again, or waits for their ids.
func (s *system) continues(event string) bool {
	described, err := s.temporal.DescribeWorkflow(s.t.Context(), event, "")
	if err != nil || described.RawResponse.GetPendingWorkflowTask() != nil {
		return false
	}
	starts := func(child *workflowpb.PendingChildExecutionInfo) bool { return child.GetRunId() == "" }
	children := described.RawResponse.GetPendingChildren()
	return !slices.ContainsFunc(children, starts) && (len(children) > 0 || s.waitsForHolder(event))
}

// part waits until a part of a kind runs.
func (b *broadcast) part(kind string) *stoppedPart {
	b.t.Helper()
	p := &stoppedPart{broadcast: b, workflow: b.event, rows: "true"}
	switch kind {
	case "delivery":
		p.workflow = notification.DeliveryID(b.event, "customer", "7", notification.Email)
		p.rows = oneRow
	case "lane":
		p.workflow = b.lane()
	case "page":
		p.workflow = b.event + "-page-EMAIL-1"
	case "batch":
		p.workflow = workflows.BatchID(b.event, notification.Email, 1)
	}
	b.awaitBegun(p.workflow)
	switch kind {
	case "page":
		p.rows = rowsOf(p, func(in workflows.PageInput) notification.IDRange { return in.IDs })
	case "batch":
		p.rows = rowsOf(p, func(in workflows.BatchInput) notification.IDRange { return in.IDs })
	}
	return p
}

// rowsOf returns the condition for the rows in the input of a part's workflow.
func rowsOf[Input any](p *stoppedPart, ids func(Input) notification.IDRange) string {
	var in Input
	started := p.history(p.workflow).GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	require.NoError(p.t, converter.GetDefaultDataConverter().FromPayloads(started.GetInput(), &in))
	return fmt.Sprintf("id BETWEEN %d AND %d", ids(in).First, ids(in).Last)
}

// stop cancels or terminates the part's workflow.
func (p *stoppedPart) stop(how string) {
	p.t.Helper()
	p.sent = p.having(`status = 'SENT' AND ` + p.rows)
	var err error
	if how == "cancel" {
		err = p.temporal.CancelWorkflow(p.t.Context(), p.workflow, "")
	} else {
		err = p.temporal.TerminateWorkflow(p.t.Context(), p.workflow, "", "an operator's word")
	}
	if err != nil { // on a busy machine, one delivery may be sent before
		require.Equal(p.t, 1, p.having(p.rows+` AND status = 'SENT'`), "%s: %v", p.workflow, err)
		return
	}
	if how == "cancel" {
		return
	}
	p.swept = p.workflow == p.event || p.rows == oneRow
}

// requireStopped requires that the provider accepted what is SENT and nothing else, and that all the
// part's rows that were not SENT before the stop, or in flight, are CANCELLED.
func (p *stoppedPart) requireStopped(accepted map[string]int) {
	p.t.Helper()
	require.Zero(p.t, p.having(`status NOT IN ('SENT', 'CANCELLED')`), p.workflow)
	require.Zero(p.t, p.having(`status = 'CANCELLED' AND NOT (`+p.rows+`)`), "%s: others were cancelled", p.workflow)
	require.LessOrEqual(p.t, p.having(`status = 'SENT' AND `+p.rows), p.sent+inFlight, p.workflow)
	for _, id := range p.deliveries(`SELECT delivery_id FROM notification WHERE event_id = $1 AND status = 'SENT'`, p.event) {
		require.Equal(p.t, 1, accepted[id], id)
	}
	for _, id := range p.deliveries(`SELECT delivery_id FROM notification WHERE event_id = $1 AND status = 'CANCELLED'`, p.event) {
		require.Zero(p.t, accepted[id], id)
	}
}
