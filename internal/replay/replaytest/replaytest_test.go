package replaytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
)

// history returns a history with a timer or a signal for each word, and a workflow task before it.
func history(words ...string) []*historypb.HistoryEvent {
	started := &historypb.WorkflowExecutionStartedEventAttributes{WorkflowType: &commonpb.WorkflowType{Name: "Digest"}}
	events := []*historypb.HistoryEvent{{
		EventType:  enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: started},
	}}
	for _, word := range words {
		event := &historypb.HistoryEvent{EventType: enums.EVENT_TYPE_TIMER_STARTED}
		event.Attributes = &historypb.HistoryEvent_TimerStartedEventAttributes{}
		if word != "timer" {
			signalled := &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: word}
			event.EventType = enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
			event.Attributes = &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{WorkflowExecutionSignaledEventAttributes: signalled}
		}
		events = append(events, &historypb.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED}, event)
	}
	for i, event := range events {
		event.EventId = int64(i + 1)
	}
	return events
}

// The corpus keeps short histories that show all transitions, in whichever order they come.
func TestCorpusKeepsWhatIsNew(t *testing.T) {
	t.Parallel()

	all := [][]*historypb.HistoryEvent{
		history("timer"),
		history("timer", "join"),
		history("timer", "join", "join"),
		history("timer", "join", "join", "join"), // the same transitions once more
		history("timer", "cancel"),
	}
	for range 2 {
		var c Corpus
		for _, events := range all {
			require.NoError(t, c.Add(events))
		}
		var kept []int
		for _, r := range c.kept() {
			require.True(t, strings.HasPrefix(r.name, "Digest-open-"), r.name)
			kept = append(kept, r.events)
		}
		require.Equal(t, []int{5, 7}, kept, "the one with the cancellation, and the one with two joins")
		slices.Reverse(all)
	}
}

// A step says what an event is about.
func TestTransitions(t *testing.T) {
	t.Parallel()

	sends := &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: "Send"}}
	failed := &historypb.ActivityTaskFailedEventAttributes{ScheduledEventId: 2, Failure: &failurepb.Failure{Cause: &failurepb.Failure{
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Refused"}}}}}
	delivers := &historypb.StartChildWorkflowExecutionInitiatedEventAttributes{WorkflowType: &commonpb.WorkflowType{Name: "Digest"}}
	events := []*historypb.HistoryEvent{
		{EventId: 1, EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED},
		{EventId: 2, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: sends}},
		{EventId: 3, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_STARTED},
		{EventId: 4, EventType: enums.EVENT_TYPE_ACTIVITY_TASK_FAILED,
			Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{ActivityTaskFailedEventAttributes: failed}},
		{EventId: 5, EventType: enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
			Attributes: &historypb.HistoryEvent_StartChildWorkflowExecutionInitiatedEventAttributes{
				StartChildWorkflowExecutionInitiatedEventAttributes: delivers}},
	}

	require.Equal(t, map[string]bool{
		" | ActivityTaskScheduled Send":                                                true,
		"ActivityTaskScheduled Send  ActivityTaskFailed Refused Send":                  true,
		"ActivityTaskFailed Refused Send  StartChildWorkflowExecutionInitiated Digest": true,
	}, transitions(events))
}

func TestCorpusOfAFolder(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "next")
	short := func(events []*historypb.HistoryEvent) bool { return len(events) < 7 }
	for _, words := range [][]string{{"timer", "join", "join"}, {"timer"}, {"timer", "join"}, {"timer"}} {
		var c Corpus
		require.NoError(t, c.Load(dir, short))
		require.NoError(t, c.Add(history(words...)))
		_, err := c.Write(dir)
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	events, err := Read(files[0])
	require.NoError(t, err)
	require.Len(t, events, 5)
	require.Equal(t, "Digest", TypeOf(events))
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Len(t, strings.Split(string(text), "\n"), 5+3, "an event has a line")
}

// A history in the corpus names no machine, and no file of it.
func TestCorpusIsClean(t *testing.T) {
	t.Parallel()

	completed := &historypb.WorkflowTaskCompletedEventAttributes{Identity: "12@host"}
	scheduled := &historypb.WorkflowTaskScheduledEventAttributes{
		TaskQueue: &taskqueuepb.TaskQueue{Name: "host:1234", NormalName: "herald-email", Kind: enums.TASK_QUEUE_KIND_STICKY},
	}
	failed := &historypb.WorkflowTaskFailedEventAttributes{Failure: &failurepb.Failure{Message: "why", StackTrace: "/root/herald/x.go:3"}}
	cancelled := &historypb.WorkflowExecutionCancelRequestedEventAttributes{Cause: "event cancel by root@host"}
	events := []*historypb.HistoryEvent{
		{Attributes: &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
			WorkflowExecutionCancelRequestedEventAttributes: cancelled,
		}},
		{Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{WorkflowTaskCompletedEventAttributes: completed}},
		{TaskId: 7, Attributes: &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{WorkflowTaskScheduledEventAttributes: scheduled}},
		{Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{WorkflowTaskFailedEventAttributes: failed}},
	}

	cleaned := clean(events)

	text, err := write(cleaned)
	require.NoError(t, err)
	for _, word := range []string{"host", "root", "taskId"} {
		require.NotContains(t, string(text), word)
	}
	require.Contains(t, string(text), "why")
	require.Equal(t, "herald-email", cleaned[2].GetWorkflowTaskScheduledEventAttributes().GetTaskQueue().GetName())
	require.Equal(t, "12@host", completed.GetIdentity(), "the history itself stays")
}

func TestPrivate(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]string{
		"evt-1-staff10-EMAIL at 2026-11-21T07:54:00+01:00, herald/workflows": nil,
		"ada.l+x@example.co.uk": {"ada.l+x@example.co.uk"},
		"+41791234567":          {"+41791234567"},
		"open /tmp/x/y: no":     {"/tmp/x/y:"},
		"panic at send.go:12":   {"send.go:12"},
		"dial builder-7":        {"builder-7"},
	} {
		events := history("timer")
		events[0].GetWorkflowExecutionStartedEventAttributes().Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte(text)}}}

		found, err := private(t.Context(), events, "builder-7")

		require.NoError(t, err)
		require.Equal(t, want, found, text)
	}
}
