package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/internal/codec"
)

// recording returns the shortest recorded history whose file name begins with a workflow type and an
// end, and that has each of these texts.
func recording(t *testing.T, name string, texts ...string) []byte {
	t.Helper()
	var shortest []byte
	for _, file := range must(filepath.Glob("../workflows/testdata/*/" + name + "-*.json"))(t) {
		text := must(os.ReadFile(file))(t)
		lacks := func(part string) bool { return !strings.Contains(string(text), part) }
		if !slices.ContainsFunc(texts, lacks) && (shortest == nil || len(text) < len(shortest)) {
			shortest = text
		}
	}
	require.NotNil(t, shortest, "no history of %s with %v is recorded: make histories", name, texts)
	return shortest
}

// sent returns the history of a delivery that an activity sent.
func sent(t *testing.T) []byte { return recording(t, "DeliverNotification-completed", `"name":"Send"`) }

// Recorded histories replay in both JSON forms: the current form of the `temporal` command and
// the Web UI, and the older form.
func TestReplayCleanly(t *testing.T) {
	t.Parallel()

	for _, name := range []string{
		"CleanOutboxes-completed", "DeliverNotification-canceled", "DeliverNotification-completed", "Digest-completed", "Escalate-completed",
		"FollowUp", "NotifyChannel-completed", "NotifyEvent-completed", "PollOutbox-canceled", "Sweep-completed",
	} {
		text := recording(t, name)
		for _, written := range [][]byte{text, inCamelCase(text)} {
			got := shell{}.run(t, "replay", "-o", "json", "--history", write(t, written))
			require.Equal(t, succeeded, got.code, "%s: %s%s", name, got.out, got.err)
			var view replayView
			require.NoError(t, json.Unmarshal([]byte(got.out), &view))
			require.True(t, view.Clean)
			require.Empty(t, view.Divergence)
			require.Equal(t, strings.Count(string(text), `"eventId"`), view.Events)
		}
	}

	text := sent(t)
	out := shell{}.must(t, "replay", "--history", write(t, text))
	require.Equal(t, fmt.Sprintf("replays cleanly: DeliverNotification, %d events\n", strings.Count(string(text), `"eventId"`)), out)
}

// Encrypted histories replay with their key, and name it without.
func TestReplayEncrypted(t *testing.T) {
	t.Parallel()

	const keys = "a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	files := must(filepath.Glob("../workflows/testdata/*/*.json"))(t)
	require.NotEmpty(t, files)
	with := shell{environment: map[string]string{"HISTORY_KEYS": keys}}
	for _, file := range files {
		text := encrypted(t, file, keys)
		if !strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte("binary/encrypted"))) {
			continue // it has no payload
		}
		hidden := write(t, text)
		require.Contains(t, with.must(t, "replay", "--history", hidden), "replays cleanly", file)
		shell{}.fails(t, calledWrong, `the key "a": add this key to HISTORY_KEYS`, "replay", "--history", hidden)
	}
}

// encrypted returns a recorded history with encrypted payloads.
func encrypted(t *testing.T, file, keys string) []byte {
	t.Helper()
	c := must(codec.New(keys, true))(t)
	recorded := must(client.HistoryFromJSON(must(os.Open(file))(t), client.HistoryJSONOptions{}))(t)
	require.NoError(t, proxy.VisitPayloads(t.Context(), recorded, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			return c.Encode(payloads)
		},
	}))
	return must(protojson.Marshal(recorded))(t)
}

var enumName = regexp.MustCompile(`"EVENT_TYPE_([A-Z_]+)"`)

// inCamelCase replaces names such as EVENT_TYPE_TIMER_STARTED by TimerStarted, the older form.
func inCamelCase(text []byte) []byte {
	return enumName.ReplaceAllFunc(text, func(name []byte) []byte {
		var words []string
		for word := range strings.SplitSeq(string(enumName.FindSubmatch(name)[1]), "_") {
			words = append(words, word[:1]+strings.ToLower(word[1:]))
		}
		return []byte(`"` + strings.Join(words, "") + `"`)
	})
}

func write(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// edited writes a changed copy of a recorded history, which stands for the history of other code,
// and returns its path.
func edited(t *testing.T, text []byte, change func(events []map[string]any) []map[string]any) string {
	t.Helper()
	var recorded struct {
		Events []map[string]any `json:"events"`
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	recorded.Events = change(recorded.Events)
	return write(t, must(json.Marshal(recorded))(t))
}

// renamed changes the type of the activity or child in the n-th event with these attributes.
func renamed(attributes, kind string, n int) func([]map[string]any) []map[string]any {
	return func(events []map[string]any) []map[string]any {
		for _, event := range events {
			of, ok := event[attributes].(map[string]any)
			if !ok {
				continue
			}
			if n--; n == 0 {
				of[kind].(map[string]any)["name"] = "Other"
			}
		}
		return events
	}
}

// renameSignals renames all signals to a name that no workflow handles.
func renameSignals(events []map[string]any) []map[string]any {
	for _, event := range events {
		if signal, ok := event["workflowExecutionSignaledEventAttributes"].(map[string]any); ok {
			signal["signalName"] = "other"
		}
	}
	return events
}

func TestReplayDiverges(t *testing.T) {
	t.Parallel()

	const activity, child = "activityTaskScheduledEventAttributes", "startChildWorkflowExecutionInitiatedEventAttributes"
	held := recording(t, "NotifyEvent-completed", "AwaitHolder") // it starts the child of a taken id last
	tests := []struct {
		name   string
		of     []byte
		change func([]map[string]any) []map[string]any
		want   []string
	}{
		{name: "another activity", of: sent(t), change: renamed(activity, "activityType", 1),
			want: []string{"nondeterministic", "Name:Other", "Name:Send"}},
		{
			name: "another child, long after the beginning", of: held, change: renamed(child, "workflowType", strings.Count(string(held), child)),
			want: []string{"nondeterministic", `workflow_type:{name:"Other"}`},
		},
		{name: "signals of an unknown name", of: recording(t, "PollOutbox-canceled", `"signalName":"pause"`), change: renameSignals,
			want: []string{"TMPRL1100"}},
		{
			name: "another end", of: sent(t), change: func(events []map[string]any) []map[string]any {
				events[len(events)-1]["eventType"] = "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW"
				return events
			},
			want: []string{"same result"},
		},
		{
			name: "a running workflow, in a workflow task", of: sent(t), change: func(events []map[string]any) []map[string]any {
				return renamed(activity, "activityType", 1)(events[:len(events)-2])
			},
			want: []string{"nondeterministic", "Name:Other", "Name:Send"},
		},
	}
	for _, tt := range tests {
		file := edited(t, tt.of, tt.change)
		got := shell{}.fails(t, failed, "error: it does not replay: this build diverges", "replay", "--history", file, "-o", "json")
		require.Contains(t, got.err, "next: keep workers of the build that began it")
		var view replayView
		require.NoError(t, json.Unmarshal([]byte(got.out), &view))
		require.False(t, view.Clean)
		out := shell{}.run(t, "replay", "--history", file).out
		for _, part := range tt.want {
			require.Contains(t, view.Divergence, part, tt.name)
			require.Contains(t, out, part, tt.name)
		}
	}
}

// Events that no worker has handled yet are no divergence: a cancellation request, and attempts
// at its workflow task.
func TestReplayAcceptsEventsThatWaitForAWorker(t *testing.T) {
	t.Parallel()

	tail := []string{
		"WORKFLOW_EXECUTION_CANCEL_REQUESTED", "WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_TIMED_OUT",
		"WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_EXECUTION_TERMINATED",
	}
	waits := recording(t, "DeliverNotification-completed", "EVENT_TYPE_TIMER_FIRED")
	for n := range len(tail) + 1 {
		file := edited(t, waits, func(events []map[string]any) []map[string]any {
			started := func(event map[string]any) bool { return event["eventType"] == "EVENT_TYPE_TIMER_STARTED" }
			events = events[:slices.IndexFunc(events, started)+1]
			for _, kind := range tail[:n] {
				events = append(events, map[string]any{"eventId": len(events) + 1, "eventType": "EVENT_TYPE_" + kind})
			}
			return events
		})

		require.Contains(t, shell{}.must(t, "replay", "--history", file), "replays cleanly: DeliverNotification", tail[:n])
	}
}

func TestReplayBadInput(t *testing.T) {
	t.Parallel()

	large := filepath.Join(t.TempDir(), "large.json")
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 50<<20+1))
	decoded := func(input any) string {
		return edited(t, sent(t), func(e []map[string]any) []map[string]any {
			e[0]["workflowExecutionStartedEventAttributes"].(map[string]any)["input"] = map[string]any{"payloads": []any{input}}
			return e
		})
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{name: "nothing", want: "name either a workflow ID or a file"},
		{name: "both", args: []string{"evt-1", "--history", "x.json"}, want: "name either a workflow ID or a file"},
		{name: "two", args: []string{"evt-1", "evt-2"}, want: "accepts at most 1 arg(s)"},
		{name: "a run of a file", args: []string{"--history", "x.json", "--run-id", "x"},
			want: "if any flags in the group [history run-id] are set none of the others can be"},
		{name: "no file", args: []string{"--history", "/nowhere/history.json"}, want: "open /nowhere/history.json: no such file or directory"},
		{name: "a directory", args: []string{"--history", t.TempDir()}, want: "is a directory"},
		{name: "an empty file", args: []string{"--history", write(t, []byte(" \n"))}, want: "is not a history"},
		{name: "a large file", args: []string{"--history", large}, want: "is larger than 50 MB"},
		{name: "no JSON", args: []string{"--history", write(t, []byte("hello"))},
			want: "is not a history in the form of `temporal workflow show -o json`"},
		{name: "other JSON", args: []string{"--history", write(t, []byte(`{"event_id": "evt-1"}`))}, want: "has no events"},
		{name: "a decoded download", args: []string{"--history", decoded(map[string]string{"DeliveryID": "evt-1"})},
			want: "holds decoded data, which cannot be replayed"},
		{name: "a decoded text", args: []string{"--history", decoded("evt-1")}, want: "is not a history"},
		{name: "a part", args: []string{"--history", edited(t, sent(t), func(e []map[string]any) []map[string]any { return e[3:] })},
			want: "it is incomplete"},
		{name: "a gap",
			args: []string{"--history", edited(t, sent(t), func(e []map[string]any) []map[string]any { return append(e[:4], e[5:]...) })},
			want: "it has event 6 in place of event 5"},
		{
			name: "another program's",
			args: []string{"--history", edited(t, sent(t), renamed("workflowExecutionStartedEventAttributes", "workflowType", 1))},
			want: "is of the workflow type Other, which this build does not have; the build has PollOutbox, NotifyEvent,",
		},
	}
	for _, tt := range tests {
		got := shell{}.fails(t, calledWrong, tt.want, append([]string{"replay"}, tt.args...)...)
		require.Empty(t, got.out)
	}
}

// A workflow that no worker has begun is a failure, not a usage error.
func TestReplayRefusesAWorkflowWithoutATask(t *testing.T) {
	t.Parallel()

	file := edited(t, sent(t), func(e []map[string]any) []map[string]any { return e[:2] })
	got := shell{}.fails(t, failed, "has not begun", "replay", "--history", file)
	require.Contains(t, got.err, "next: see `starter poller status`")

	shell{environment: map[string]string{"TEMPORAL_ADDRESS": unreachable}}.fails(t, failed, "Temporal is out of reach", "replay", "evt-1")
}
