package operate

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"herald/workflows"
)

// A dry run refuses what the run would refuse: only a running workflow takes an answer.
func TestApproveEventWithoutWorkflow(t *testing.T) {
	t.Parallel()

	for _, status := range []enums.WorkflowExecutionStatus{unknown, terminated, canceled} {
		d := newDesk(t)
		d.exec("UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
		d.exec("INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'PROCESSING', 'AWAITING_APPROVAL')")
		d.exec("INSERT INTO event_approval (event_id) VALUES ('evt-1')")
		d.workflow("evt-1", status)
		for _, verb := range []Verb{ApproveEvent(), RejectEvent()} {
			planned, answered := d.dryRun(verb, "evt-1"), d.run(verb, "evt-1")
			require.Equal(t, planned, answered)
			require.Equal(t, "has no running workflow: it has ended, or was not started yet", answered.String())
			require.Contains(t, answered.Next(), "`starter event retry evt-1`")
		}
	}
}

// The workflow may end between the plan and the answer.
func TestApproveEventThatEndsMeanwhile(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec("UPDATE event_outbox SET status = 'PROCESSED', published_at = now()")
	d.exec("INSERT INTO processed_event (event_id, status, outcome) VALUES ('evt-1', 'PROCESSING', 'AWAITING_APPROVAL')")
	d.exec("INSERT INTO event_approval (event_id) VALUES ('evt-1')")
	d.workflow("evt-1", running)
	require.Equal(t, "would be APPROVED", d.dryRun(ApproveEvent(), "evt-1").String())
	d.server.On("SignalWorkflow", mock.Anything, "evt-1", "", workflows.Approve,
		mock.Anything).Return(serviceerror.NewNotFound("workflow execution already completed"))
	require.Equal(t, "has ended", d.run(ApproveEvent(), "evt-1").Code.Result())
}
