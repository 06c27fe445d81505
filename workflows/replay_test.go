package workflows_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"herald/internal/tracing"
	"herald/workflows"
)

// recording is one history in testdata and its end. tools/histories recorded it on a real server.
type recording struct{ name, workflow, end string }

// endedByPromotion lists histories of release 0.2 that no code replays any more: a promotion ends
// such a workflow and starts it again from the tables.
const endedByPromotion = `
	notify_paged notify_paged_waiting notify_topic notify_topic_only notify_topic_marked_late notify_topic_again notify_paged_followed notify_batched
	notify_paged_cancelled notify_paged_cancelled_waiting notify_paged_cancelled_late notify_batched_cancelled notify_topic_refused
	page_sent page_waiting page_cancelled page_cancelled_waiting
	lane_sent lane_followed lane_waiting lane_batched lane_cancelled lane_cancelled_waiting lane_batched_cancelled
	batch_sent batch_repeated batch_cancelled`

// ends holds the names of histories by their end. The names are the same in each release.
var ends = map[recording]string{
	{workflow: pollOutbox, end: "cancelled"}: "poll_cancelled poll_paused",
	{workflow: notifyEvent, end: "completed"}: `
		notify_sent notify_partly_failed notify_nothing_selected notify_cancels notify_waits_for_holder notify_id_taken notify_first_sent
		notify_first_again notify_finish_sent notify_finish_again notify_again notify_escalated notify_escalation_settled notify_batched
		notify_lane_cancelled notify_paged notify_paged_followed notify_paged_waiting`,
	{workflow: notifyEvent, end: "completed NO_RECIPIENTS"}: "notify_no_recipients",
	{workflow: notifyEvent, end: "completed NO_ROUTING"}:    "notify_no_routing",
	{workflow: notifyEvent, end: "failed NoSuchRow FAILED"}: "notify_failed notify_first_failed",
	{workflow: notifyEvent, end: "cancelled CANCELLED"}: `
		notify_cancelled notify_cancelled_late notify_cancelled_planning notify_first_cancelled notify_finish_lost notify_end_lost
		notify_batched_cancelled notify_paged_cancelled notify_paged_cancelled_late notify_paged_cancelled_waiting`,
	{workflow: deliverNotification, end: "completed SENT"}: `
		deliver_sent deliver_retried deliver_not_recorded deliver_sent_before deliver_delayed deliver_deferred deliver_sent_now
		deliver_rescheduled deliver_cancelled_too_late deliver_sent_now_retrying deliver_rescheduled_retrying deliver_sent_now_sending
		deliver_sent_now_failing deliver_sent_now_judging deliver_again deliver_in_digest deliver_in_digest_sent_now
		deliver_in_digest_cancelled_late deliver_in_digest_sent_before deliver_first_sent deliver_first_retried deliver_first_left
		deliver_first_not_recorded deliver_first_sent_now_retrying deliver_first_rescheduled_retrying deliver_first_sent_now_failing
		deliver_first_cancelled_too_late deliver_first_rescheduled_too_late deliver_next`,
	{workflow: deliverNotification, end: "failed DeliveryFailed FAILED"}: `
		deliver_failed deliver_refused deliver_sent_now_refused deliver_again_to_nobody deliver_in_digest_failed deliver_first_refused
		deliver_failed_in_batch`,
	{workflow: deliverNotification, end: "completed FAILED FAILED"}: "deliver_best_effort_failed",
	{workflow: deliverNotification, end: "completed CANCELLED CANCELLED"}: `
		deliver_cancelled_before deliver_dropped deliver_in_digest_dropped deliver_first_opted_out deliver_opted_out
		deliver_in_digest_opted_out`,
	{workflow: deliverNotification, end: "cancelled CANCELLED"}: `
		deliver_cancelled_waiting deliver_cancelled_retrying deliver_cancelled_failing deliver_in_digest_cancelled
		deliver_first_cancelled_retrying deliver_first_cancelled_failing`,
	{workflow: deliverNotification, end: "completed DELIVERED"}: "deliver_again_sent_before",
	{workflow: digestWorkflow, end: "completed SENT"}: `
		digest_sent digest_sent_now digest_retried digest_not_recorded digest_deferred digest_rescheduled digest_sent_now_retrying
		digest_sent_now_sending digest_rescheduled_retrying digest_cancelled_too_late`,
	{workflow: digestWorkflow, end: "completed FAILED FAILED"}:       "digest_failed digest_refused",
	{workflow: digestWorkflow, end: "completed CANCELLED CANCELLED"}: "digest_dropped digest_all_cancelled digest_opted_out",
	{workflow: digestWorkflow, end: "completed"}:                     "digest_of_nothing digest_of_a_late_joiner",
	{workflow: digestWorkflow, end: "cancelled CANCELLED"}:           "digest_cancelled_waiting digest_cancelled_retrying",
	{workflow: digestWorkflow, end: "continued"}:                     "digest_continued",
	{workflow: sweepWorkflow, end: "completed"}:                      "sweep_done sweep_gave_up",
	{workflow: cleanOutboxes, end: "completed"}:                      "clean_done",
	{workflow: followUp, end: "cancelled"}:                           "follow_up_cancelled",
	{workflow: notifyEvent, end: "completed INCOMPLETE"}:             "notify_incomplete",
	{workflow: escalateWorkflow, end: "completed"}:                   "escalate_followed escalate_read escalate_dropped",
	{workflow: escalateWorkflow, end: "cancelled"}:                   "escalate_cancelled escalate_cancelled_late",
	{workflow: notifyChannel, end: "completed"}:                      "lane_batched lane_followed lane_sent lane_waiting",
	{workflow: notifyChannel, end: "cancelled"}:                      "lane_batched_cancelled lane_cancelled lane_cancelled_waiting",
	{workflow: notifyPage, end: "completed"}:                         "page_waiting",
	{workflow: notifyPage, end: "cancelled"}:                         "page_cancelled_waiting",
	{workflow: deliverBatch, end: "completed"}:                       "batch_failed batch_sent",
	{workflow: deliverBatch, end: "cancelled"}:                       "batch_cancelled",
}

// recordings lists the histories that this code replays. A release's histories never change.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	known := map[string]recording{}
	for r, names := range ends {
		for name := range strings.FieldsSeq(names) {
			known[name] = r
		}
	}
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		release, name := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".json")
		if release == "v0.2" && slices.Contains(strings.Fields(endedByPromotion), name) {
			continue
		}
		r, ok := known[name]
		require.True(t, ok, "add the end of %s to ends", file)
		r.name = path.Join(release, name)
		all = append(all, r)
	}
	return all
}

// This code continues all workflows of a running installation, even if traces are switched on
// meanwhile.
func TestReplay(t *testing.T) {
	t.Parallel()

	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			recorded := load(t, r.name)

			require.Equal(t, r.workflow, recorded.Events[0].GetWorkflowExecutionStartedEventAttributes().WorkflowType.Name)
			require.Equal(t, r.end, endOf(t, recorded))
			require.NoError(t, replayer(t).ReplayWorkflowHistory(quietLogger{}, recorded))
			require.NoError(t, replayer(t, traces(t)).ReplayWorkflowHistory(quietLogger{}, load(t, r.name)), "with traces")
		})
	}
}

// Every history in ends is recorded, and this release has a history of every type of workflow.
func TestReplayIsComplete(t *testing.T) {
	t.Parallel()

	recorded, types := map[string]bool{}, map[string]bool{}
	for _, r := range recordings(t) {
		recorded[path.Base(r.name)] = true
		types[r.workflow] = types[r.workflow] || path.Dir(r.name) == "v0.3"
	}
	for _, names := range ends {
		for name := range strings.FieldsSeq(names) {
			require.True(t, recorded[name], "%s is not recorded", name)
		}
	}
	for _, each := range workflows.All() {
		name := path.Ext(runtime.FuncForPC(reflect.ValueOf(each).Pointer()).Name())[1:]
		require.True(t, types[name], "no history of %s", name)
	}
}

// For each field of an event's input that changes its commands, a history sets the field.
func TestReplayHasEveryInputOfEvents(t *testing.T) {
	t.Parallel()

	type event struct {
		cancels, publish bool
		commands         int
	}
	recorded := map[event]bool{}
	for _, r := range recordings(t) {
		if r.workflow != notifyEvent {
			continue
		}
		loaded := load(t, r.name)
		var in workflows.NotifyInput
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(loaded.Events[0].GetWorkflowExecutionStartedEventAttributes().Input, &in))
		recorded[event{in.Cancels != "", in.Publish, in.CommandVersion}] = true
	}
	for _, want := range []event{{publish: true, commands: 1}, {publish: true, commands: 2}, {publish: true, commands: 3}, {publish: true, commands: workflows.CommandVersion}, {cancels: true, commands: 1}} {
		require.True(t, recorded[want], "no history of %+v", want)
	}
}

// replayer replays every type of workflow. Its time-outs allow for a busy machine.
func replayer(t *testing.T, interceptors ...interceptor.WorkerInterceptor) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true, Interceptors: interceptors})
	require.NoError(t, err)
	for _, workflow := range workflows.All() {
		r.RegisterWorkflow(workflow)
	}
	return r
}

// traces returns the interceptor that records a span for each step.
func traces(t *testing.T) interceptor.WorkerInterceptor {
	t.Helper()
	interceptors, err := tracing.With().Interceptors()
	require.NoError(t, err)
	return interceptors[0].(interceptor.WorkerInterceptor)
}

// endOf returns the end of a workflow: its status or type of failure, and its
// HeraldOutcome.
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

var (
	email = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)*`)
	phone = regexp.MustCompile(`\+\d{7,15}\b`)
)

// Many people can read a history, and Temporal keeps it for a long time. These histories contain
// real inputs and results of workflows and activities.
func TestHistoriesHoldNothingPersonal(t *testing.T) {
	t.Parallel()

	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			text := plainText(t, r.name)

			require.Regexp(t, `"(Started|EventID|DeliveryID|DigestID|looked|Source|Done)":`, text) // only payloads contain these names
			require.Empty(t, email.FindAllString(text, -1))
			require.Empty(t, phone.FindAllString(text, -1))
		})
	}
}

func TestPersonalDataIsRecognised(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{"ada.l+x@example.co.uk", "4711@localhost"}, email.FindAllString(`"To":"ada.l+x@example.co.uk", "identity": "4711@localhost@"`, -1))
	require.Equal(t, []string{"+41791234567"}, phone.FindAllString(`"To":"+41791234567","At":"2026-11-21T07:54:00+01:00"`, -1))
}

// plainText returns a recorded history with its payloads decoded.
func plainText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	payloads := 0
	err = proxy.VisitPayloads(t.Context(), load(t, name), proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, payload := range p {
				text, payloads = append(append(text, '\n'), payload.Data...), payloads+1
			}
			return p, nil
		},
	})
	require.NoError(t, err)
	require.NotZero(t, payloads)
	return string(text)
}

func load(t *testing.T, name string) *history.History {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err, "record it: make histories")
	recorded, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	require.NoError(t, err)
	return recorded
}
