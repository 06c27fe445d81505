package workflows_test

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"herald/workflows"
)

// recording is one history in testdata, which internal/e2e/histories made on a
// real server, and how it ends.
type recording struct{ name, workflow, end string }

// recordings are those of each release. Those of a release never change again.
var recordings = slices.Concat(of("v0.1", both), of("v0.2", both), of("v0.2", addedInV02))

// both releases have these, and end them alike.
var both = []recording{
	{"poll_cancelled", pollOutbox, "cancelled"},
	{"poll_paused", pollOutbox, "cancelled"},
	{"notify_sent", notifyEvent, "completed"},
	{"notify_partly_failed", notifyEvent, "completed"},
	{"notify_nothing_selected", notifyEvent, "completed"},
	{"notify_no_recipients", notifyEvent, "completed NO_RECIPIENTS"},
	{"notify_no_routing", notifyEvent, "completed NO_ROUTING"},
	{"notify_failed", notifyEvent, "failed NoSuchRow FAILED"},
	{"notify_paged", notifyEvent, "completed"},
	{"notify_paged_waiting", notifyEvent, "completed"},
	{"notify_cancelled", notifyEvent, "cancelled CANCELLED"},
	{"notify_paged_cancelled", notifyEvent, "cancelled CANCELLED"},
	{"notify_cancelled_late", notifyEvent, "cancelled CANCELLED"},
	{"notify_paged_cancelled_waiting", notifyEvent, "cancelled CANCELLED"},
	{"notify_paged_cancelled_late", notifyEvent, "cancelled CANCELLED"},
	{"page_sent", notifyPage, "completed"},
	{"page_waiting", notifyPage, "completed"},
	{"page_cancelled", notifyPage, "cancelled"},
	{"page_cancelled_waiting", notifyPage, "cancelled"},
	{"deliver_sent", deliverNotification, "completed SENT"},
	{"deliver_retried", deliverNotification, "completed SENT"},
	{"deliver_failed", deliverNotification, "failed DeliveryFailed FAILED"},
	{"deliver_refused", deliverNotification, "failed DeliveryFailed FAILED"},
	{"deliver_best_effort_failed", deliverNotification, "completed FAILED FAILED"},
	{"deliver_not_recorded", deliverNotification, "completed SENT"},
	{"deliver_sent_before", deliverNotification, "completed SENT"},
	{"deliver_cancelled_before", deliverNotification, "completed CANCELLED CANCELLED"},
	{"deliver_delayed", deliverNotification, "completed SENT"},
	{"deliver_deferred", deliverNotification, "completed SENT"},
	{"deliver_dropped", deliverNotification, "completed CANCELLED CANCELLED"},
	{"deliver_sent_now", deliverNotification, "completed SENT"},
	{"deliver_rescheduled", deliverNotification, "completed SENT"},
	{"deliver_cancelled_waiting", deliverNotification, "cancelled CANCELLED"},
	{"deliver_cancelled_retrying", deliverNotification, "cancelled CANCELLED"},
	{"deliver_cancelled_failing", deliverNotification, "cancelled CANCELLED"},
	{"deliver_cancelled_too_late", deliverNotification, "completed SENT"},
	{"deliver_sent_now_retrying", deliverNotification, "completed SENT"},
	{"deliver_rescheduled_retrying", deliverNotification, "completed SENT"},
	{"deliver_sent_now_sending", deliverNotification, "completed SENT"},
	{"deliver_sent_now_failing", deliverNotification, "completed SENT"},
	{"deliver_sent_now_refused", deliverNotification, "failed DeliveryFailed FAILED"},
	{"deliver_sent_now_judging", deliverNotification, "completed SENT"},
	{"deliver_again", deliverNotification, "completed SENT"},
	{"deliver_again_sent_before", deliverNotification, "completed DELIVERED"},
	{"deliver_again_to_nobody", deliverNotification, "failed DeliveryFailed FAILED"},
	{"deliver_in_digest", deliverNotification, "completed SENT"},
	{"deliver_in_digest_failed", deliverNotification, "failed DeliveryFailed FAILED"},
	{"deliver_in_digest_dropped", deliverNotification, "completed CANCELLED CANCELLED"},
	{"deliver_in_digest_sent_now", deliverNotification, "completed SENT"},
	{"deliver_in_digest_cancelled", deliverNotification, "cancelled CANCELLED"},
	{"deliver_in_digest_cancelled_late", deliverNotification, "completed SENT"},
	{"deliver_in_digest_sent_before", deliverNotification, "completed SENT"},
	{"digest_sent", digestWorkflow, "completed SENT"},
	{"digest_failed", digestWorkflow, "completed FAILED FAILED"},
	{"digest_dropped", digestWorkflow, "completed CANCELLED CANCELLED"},
	{"digest_sent_now", digestWorkflow, "completed SENT"},
	{"digest_of_nothing", digestWorkflow, "completed"},
	{"digest_retried", digestWorkflow, "completed SENT"},
	{"digest_refused", digestWorkflow, "completed FAILED FAILED"},
	{"digest_not_recorded", digestWorkflow, "completed SENT"},
	{"digest_all_cancelled", digestWorkflow, "completed CANCELLED CANCELLED"},
	{"digest_deferred", digestWorkflow, "completed SENT"},
	{"digest_rescheduled", digestWorkflow, "completed SENT"},
	{"digest_sent_now_retrying", digestWorkflow, "completed SENT"},
	{"digest_sent_now_sending", digestWorkflow, "completed SENT"},
	{"digest_rescheduled_retrying", digestWorkflow, "completed SENT"},
	{"digest_cancelled_waiting", digestWorkflow, "cancelled CANCELLED"},
	{"digest_cancelled_retrying", digestWorkflow, "cancelled CANCELLED"},
	{"digest_cancelled_too_late", digestWorkflow, "completed SENT"},
	{"digest_continued", digestWorkflow, "continued"},
	{"digest_of_a_late_joiner", digestWorkflow, "completed"},
}

var addedInV02 = []recording{
	{"sweep_done", sweepWorkflow, "completed"},
	{"sweep_gave_up", sweepWorkflow, "completed"},
	{"notify_incomplete", notifyEvent, "completed INCOMPLETE"},
	{"notify_waits_for_holder", notifyEvent, "completed"},
	{"notify_id_taken", notifyEvent, "completed"},
	{"notify_paged_followed", notifyEvent, "completed"},
	{"notify_cancelled_planning", notifyEvent, "cancelled CANCELLED"},
	{"lane_sent", notifyChannel, "completed"},
	{"lane_followed", notifyChannel, "completed"},
	{"lane_waiting", notifyChannel, "completed"},
	{"lane_cancelled", notifyChannel, "cancelled"},
	{"lane_cancelled_waiting", notifyChannel, "cancelled"},
	{"deliver_opted_out", deliverNotification, "completed CANCELLED CANCELLED"},
	{"deliver_in_digest_opted_out", deliverNotification, "completed CANCELLED CANCELLED"},
	{"digest_opted_out", digestWorkflow, "completed CANCELLED CANCELLED"},
}

// of names the recordings of a release by its folder.
func of(release string, all []recording) []recording {
	named := slices.Clone(all)
	for i := range named {
		named[i].name = path.Join(release, named[i].name)
	}
	return named
}

// Whatever a running installation has begun, this code goes on with.
func TestReplay(t *testing.T) {
	t.Parallel()

	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			recorded := load(t, r.name)

			require.Equal(t, r.workflow, typeOf(recorded))
			require.Equal(t, r.end, endOf(t, recorded))
			require.NoError(t, replayer(t).ReplayWorkflowHistory(quietLogger{}, recorded))
		})
	}
}

// Every history is replayed, and every type of workflow has one.
func TestReplayIsComplete(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	want, types := []string{}, map[string]bool{}
	for _, r := range recordings {
		want, types[r.workflow] = append(want, filepath.Join("testdata", r.name+".json")), true
	}
	require.ElementsMatch(t, want, files)
	for _, name := range registered(t) {
		require.True(t, types[name], "no history of %s", name)
	}
}

// Replaying would be worth nothing if it did not notice a change.
func TestReplayNoticesAChange(t *testing.T) {
	t.Parallel()

	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			err := replayer(t, &asksFirst{}).ReplayWorkflowHistory(quietLogger{}, load(t, r.name))

			require.ErrorContains(t, err, "[TMPRL1100]") // Temporal's number for a workflow that is not deterministic
		})
	}
}

// replayer replays every type of workflow. It has all the time that a busy machine
// takes.
func replayer(t *testing.T, interceptors ...interceptor.WorkerInterceptor) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true, Interceptors: interceptors})
	require.NoError(t, err)
	for _, workflow := range workflows.All() {
		r.RegisterWorkflow(workflow)
	}
	return r
}

// asksFirst changes every workflow as somebody may who forgets what is running: it
// first asks an activity that was not there before.
type asksFirst struct {
	interceptor.WorkerInterceptorBase
}

type askingFirst struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (*asksFirst) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &askingFirst{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

func (a *askingFirst) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	_ = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 1}), "AskFirst").Get(ctx, nil)
	return a.Next.ExecuteWorkflow(ctx, in)
}

func typeOf(recorded *history.History) string {
	return recorded.Events[0].GetWorkflowExecutionStartedEventAttributes().WorkflowType.Name
}

// endOf is how a workflow ended, with the status or the type of failure that it
// ended with, and its HeraldOutcome.
func endOf(t *testing.T, recorded *history.History) string {
	t.Helper()
	words := []string{}
	last := recorded.Events[len(recorded.Events)-1]
	switch last.EventType {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		words = append(words, "completed")
		var result struct{ Status string }
		if payloads := last.GetWorkflowExecutionCompletedEventAttributes().Result; payloads != nil {
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &result))
		}
		words = append(words, result.Status)
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		failure := last.GetWorkflowExecutionFailedEventAttributes().Failure
		for failure.GetApplicationFailureInfo() == nil {
			failure = failure.Cause
		}
		words = append(words, "failed", failure.GetApplicationFailureInfo().Type)
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		words = append(words, "cancelled")
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		words = append(words, "continued")
	default:
		words = append(words, fmt.Sprint(last.EventType))
	}
	for _, event := range recorded.Events {
		if found, ok := event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()["HeraldOutcome"]; ok {
			words = append(words, strings.Trim(string(found.Data), `"`))
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
