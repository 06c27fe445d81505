package e2e_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"herald/workflows"
)

// A digest that is reset after it chose its items still sends these, although the reset
// starts another run.
func TestDigestIsReset(t *testing.T) {
	t.Parallel()

	d := newDigests(t)
	d.env = append(d.env, "EMAIL_RETRY_INTERVAL=10m") // so that it waits for its second attempt
	d.startWorker()
	d.starter("poller", "start")
	d.fault("EMAIL", `{"status":503}`)
	item, digest := d.write(hidden, 1, 1)[0], d.digest(hidden, 1)
	d.signal(digest, workflows.SendNow)
	d.awaitCount(1, `SELECT count(*) FROM delivery_attempt WHERE ended_at IS NOT NULL`)
	d.mend()

	d.resetToLastTask(digest)

	d.eventually(func() bool { return d.having(hidden, "PENDING") == 0 }, "%s has not ended", item)
	require.Equal(t, 1, d.having(hidden, "SENT"))
	require.Equal(t, 1, d.count(`SELECT count(*) FROM delivery_attempt WHERE outcome = 'SENT' AND delivery_id = $1`, item))
}

// resetToLastTask makes a workflow repeat its last workflow task.
func (d *digests) resetToLastTask(id string) {
	d.t.Helper()
	var last int64
	history := d.temporal.GetWorkflowHistory(d.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(d.t, err)
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			last = event.GetEventId()
		}
	}
	_, err := d.temporal.ResetWorkflowExecution(d.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
		Reason: "test", WorkflowTaskFinishEventId: last, RequestId: uuid.NewString(),
	})
	require.NoError(d.t, err)
}
