package workflows_test

import (
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"herald/activities"
	"herald/internal/replay"
	"herald/internal/replay/replaytest"
	"herald/internal/tracing"
	"herald/workflows"
)

// recordings returns the recorded histories by folder and file. `make histories` records the folder
// of the next release. The folder of a release never changes.
func recordings(t *testing.T) map[string][]*historypb.HistoryEvent {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths, "record them: make histories")
	all := map[string][]*historypb.HistoryEvent{}
	for _, file := range paths {
		events, err := replaytest.Read(file)
		require.NoError(t, err)
		all[path.Join(path.Base(path.Dir(file)), path.Base(file))] = events
	}
	return all
}

// This code continues all workflows of a running installation, even if traces are switched on
// meanwhile.
func TestReplay(t *testing.T) {
	t.Parallel()

	interceptors, err := tracing.With().Interceptors()
	require.NoError(t, err)
	for name, events := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.NoError(t, replay.Run(events))
			require.NoError(t, replay.Run(events, interceptors[0].(interceptor.WorkerInterceptor)), "with traces")
		})
	}
}

// The recorded histories show every type of workflow and every activity.
func TestReplayIsComplete(t *testing.T) {
	t.Parallel()

	types, ran := map[string]bool{}, map[string]bool{}
	for _, events := range recordings(t) {
		types[replaytest.TypeOf(events)] = true
		for _, event := range events {
			ran[event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()] = true
			ran[replaytest.ActivityOf(event.GetMarkerRecordedEventAttributes())] = true
		}
	}
	for _, each := range workflows.All() {
		name := path.Ext(runtime.FuncForPC(reflect.ValueOf(each).Pointer()).Name())[1:]
		require.True(t, types[name], "no history of %s", name)
	}
	for method := range reflect.TypeFor[*activities.Activities]().Methods() {
		require.True(t, ran[method.Name], "no history with the activity %s", method.Name)
	}
}

// For each field of an event's input that changes its commands, a history sets the field.
func TestReplayHasEveryInputOfEvents(t *testing.T) {
	t.Parallel()

	var cancels, publishes, silent bool
	for _, events := range recordings(t) {
		if replaytest.TypeOf(events) != notifyEvent {
			continue
		}
		var in workflows.NotifyInput
		input := events[0].GetWorkflowExecutionStartedEventAttributes().GetInput()
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input, &in))
		cancels, publishes, silent = cancels || in.Cancels != "", publishes || in.Publish, silent || !in.Publish
	}
	require.Equal(t, []bool{true, true, true}, []bool{cancels, publishes, silent})
}

// Many people can read a history, and Temporal keeps it for a long time. These histories contain
// real inputs and results of workflows and activities.
func TestHistoriesHoldNothingPrivate(t *testing.T) {
	t.Parallel()

	var all strings.Builder
	for name, events := range recordings(t) {
		found, err := replaytest.Private(t.Context(), events)
		require.NoError(t, err)
		require.Empty(t, found, name)
		text, _, err := replaytest.Payloads(t.Context(), events)
		require.NoError(t, err)
		all.WriteString(text)
	}
	require.Contains(t, all.String(), `"DeliveryID":`, "only payloads contain this name")
}
