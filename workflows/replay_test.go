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

// recordings are the histories that this code replays. Those of a release never change.
var recordings = of("v0.2", inV02)

// endedByPromotion are histories whose code goes: promotion ends such a workflow and starts
// it again from the tables, so nothing replays them.
var endedByPromotion = of("v0.2", endedFromV02)

var inV02 = []recording{
	{name: "poll_cancelled", workflow: pollOutbox, end: "cancelled"},
	{name: "poll_paused", workflow: pollOutbox, end: "cancelled"},
	{name: "notify_sent", workflow: notifyEvent, end: "completed"},
	{name: "notify_partly_failed", workflow: notifyEvent, end: "completed"},
	{name: "notify_nothing_selected", workflow: notifyEvent, end: "completed"},
	{name: "notify_no_recipients", workflow: notifyEvent, end: "completed NO_RECIPIENTS"},
	{name: "notify_no_routing", workflow: notifyEvent, end: "completed NO_ROUTING"},
	{name: "notify_failed", workflow: notifyEvent, end: "failed NoSuchRow FAILED"},
	{name: "notify_cancelled", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "notify_cancelled_late", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "deliver_sent", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_retried", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_failed", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_refused", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_best_effort_failed", workflow: deliverNotification, end: "completed FAILED FAILED"},
	{name: "deliver_not_recorded", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_sent_before", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_cancelled_before", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "deliver_delayed", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_deferred", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_dropped", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "deliver_sent_now", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_rescheduled", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_cancelled_waiting", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_cancelled_retrying", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_cancelled_failing", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_cancelled_too_late", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_sent_now_retrying", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_rescheduled_retrying", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_sent_now_sending", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_sent_now_failing", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_sent_now_refused", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_sent_now_judging", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_again", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_again_sent_before", workflow: deliverNotification, end: "completed DELIVERED"},
	{name: "deliver_again_to_nobody", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_in_digest", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_in_digest_failed", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_in_digest_dropped", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "deliver_in_digest_sent_now", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_in_digest_cancelled", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_in_digest_cancelled_late", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_in_digest_sent_before", workflow: deliverNotification, end: "completed SENT"},
	{name: "digest_sent", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_failed", workflow: digestWorkflow, end: "completed FAILED FAILED"},
	{name: "digest_dropped", workflow: digestWorkflow, end: "completed CANCELLED CANCELLED"},
	{name: "digest_sent_now", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_of_nothing", workflow: digestWorkflow, end: "completed"},
	{name: "digest_retried", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_refused", workflow: digestWorkflow, end: "completed FAILED FAILED"},
	{name: "digest_not_recorded", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_all_cancelled", workflow: digestWorkflow, end: "completed CANCELLED CANCELLED"},
	{name: "digest_deferred", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_rescheduled", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_sent_now_retrying", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_sent_now_sending", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_rescheduled_retrying", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_cancelled_waiting", workflow: digestWorkflow, end: "cancelled CANCELLED"},
	{name: "digest_cancelled_retrying", workflow: digestWorkflow, end: "cancelled CANCELLED"},
	{name: "digest_cancelled_too_late", workflow: digestWorkflow, end: "completed SENT"},
	{name: "digest_continued", workflow: digestWorkflow, end: "continued"},
	{name: "digest_of_a_late_joiner", workflow: digestWorkflow, end: "completed"},
	{name: "sweep_done", workflow: sweepWorkflow, end: "completed"},
	{name: "sweep_gave_up", workflow: sweepWorkflow, end: "completed"},
	{name: "clean_done", workflow: cleanOutboxes, end: "completed"},
	{name: "follow_up_cancelled", workflow: followUp, end: "cancelled"},
	{name: "notify_cancels", workflow: notifyEvent, end: "completed"},
	{name: "notify_incomplete", workflow: notifyEvent, end: "completed INCOMPLETE"},
	{name: "notify_waits_for_holder", workflow: notifyEvent, end: "completed"},
	{name: "notify_id_taken", workflow: notifyEvent, end: "completed"},
	{name: "notify_cancelled_planning", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "notify_first_sent", workflow: notifyEvent, end: "completed"},
	{name: "notify_first_failed", workflow: notifyEvent, end: "failed NoSuchRow FAILED"},
	{name: "notify_first_again", workflow: notifyEvent, end: "completed"},
	{name: "notify_first_cancelled", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "notify_finish_sent", workflow: notifyEvent, end: "completed"},
	{name: "notify_finish_again", workflow: notifyEvent, end: "completed"},
	{name: "notify_finish_lost", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "deliver_first_sent", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_retried", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_left", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_refused", workflow: deliverNotification, end: "failed DeliveryFailed FAILED"},
	{name: "deliver_first_not_recorded", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_opted_out", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "deliver_first_cancelled_retrying", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_first_sent_now_retrying", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_rescheduled_retrying", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_cancelled_failing", workflow: deliverNotification, end: "cancelled CANCELLED"},
	{name: "deliver_first_sent_now_failing", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_cancelled_too_late", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_first_rescheduled_too_late", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_next", workflow: deliverNotification, end: "completed SENT"},
	{name: "deliver_opted_out", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "deliver_in_digest_opted_out", workflow: deliverNotification, end: "completed CANCELLED CANCELLED"},
	{name: "digest_opted_out", workflow: digestWorkflow, end: "completed CANCELLED CANCELLED"},
	{name: "notify_escalated", workflow: notifyEvent, end: "completed"},
	{name: "notify_escalation_settled", workflow: notifyEvent, end: "completed"},
	{name: "escalate_followed", workflow: escalateWorkflow, end: "completed"},
	{name: "escalate_read", workflow: escalateWorkflow, end: "completed"},
	{name: "escalate_dropped", workflow: escalateWorkflow, end: "completed"},
	{name: "escalate_cancelled", workflow: escalateWorkflow, end: "cancelled"},
	{name: "escalate_cancelled_late", workflow: escalateWorkflow, end: "cancelled"},
}

var endedFromV02 = []recording{
	{name: "notify_paged", workflow: notifyEvent, end: "completed"},
	{name: "notify_paged_waiting", workflow: notifyEvent, end: "completed"},
	{name: "notify_paged_cancelled", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "notify_paged_cancelled_waiting", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "notify_paged_cancelled_late", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "page_sent", workflow: notifyPage, end: "completed"},
	{name: "page_waiting", workflow: notifyPage, end: "completed"},
	{name: "page_cancelled", workflow: notifyPage, end: "cancelled"},
	{name: "page_cancelled_waiting", workflow: notifyPage, end: "cancelled"},
	{name: "notify_topic", workflow: notifyEvent, end: "completed"},
	{name: "notify_topic_only", workflow: notifyEvent, end: "completed"},
	{name: "notify_topic_marked_late", workflow: notifyEvent, end: "completed"},
	{name: "notify_topic_refused", workflow: notifyEvent, end: "failed SinkRefused FAILED"},
	{name: "notify_topic_again", workflow: notifyEvent, end: "completed"},
	{name: "notify_paged_followed", workflow: notifyEvent, end: "completed"},
	{name: "lane_sent", workflow: notifyChannel, end: "completed"},
	{name: "lane_followed", workflow: notifyChannel, end: "completed"},
	{name: "lane_waiting", workflow: notifyChannel, end: "completed"},
	{name: "lane_cancelled", workflow: notifyChannel, end: "cancelled"},
	{name: "lane_cancelled_waiting", workflow: notifyChannel, end: "cancelled"},
	{name: "notify_batched", workflow: notifyEvent, end: "completed"},
	{name: "notify_batched_cancelled", workflow: notifyEvent, end: "cancelled CANCELLED"},
	{name: "lane_batched", workflow: notifyChannel, end: "completed"},
	{name: "lane_batched_cancelled", workflow: notifyChannel, end: "cancelled"},
	{name: "batch_sent", workflow: deliverBatch, end: "completed"},
	{name: "batch_repeated", workflow: deliverBatch, end: "completed"},
	{name: "batch_cancelled", workflow: deliverBatch, end: "cancelled"},
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

// Every history is replayed or was ended by promotion, and every type of workflow has one.
func TestReplayIsComplete(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	want, types := []string{}, map[string]bool{}
	for _, r := range slices.Concat(recordings, endedByPromotion) {
		want, types[r.workflow] = append(want, filepath.Join("testdata", r.name+".json")), true
	}
	require.ElementsMatch(t, want, files)
	for _, name := range registered(t) {
		require.True(t, types[name], "no history of %s", name)
	}
}

// Each field of an event's input on which its commands depend is in a history that has it.
func TestReplayHasEveryInputOfEvents(t *testing.T) {
	t.Parallel()

	type event struct {
		cancels, publish bool
		commands         int
	}
	recorded := map[event]bool{}
	for _, r := range recordings {
		if r.workflow != notifyEvent {
			continue
		}
		loaded := load(t, r.name)
		var in workflows.NotifyInput
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(loaded.Events[0].GetWorkflowExecutionStartedEventAttributes().Input, &in))
		recorded[event{in.Cancels != "", in.Publish, in.Commands}] = true
	}
	for _, want := range []event{{publish: true, commands: 1}, {publish: true, commands: 2}, {publish: true, commands: 3}, {cancels: true, commands: 1}} {
		require.True(t, recorded[want], "no history of %+v", want)
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
