package e2e_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"herald/internal/notification"
	"herald/internal/replay"
	"herald/internal/replay/replaytest"
	"herald/tools/rig"
	"herald/workflows"
)

// record is the folder in which the tests record histories, for workflows/replay_test.go.
var record = flag.String("record", "", "add histories of the tests to this `folder`, and keep few: each shows something new")

// recorded holds the histories of all installations.
var recorded replaytest.Corpus

const (
	// sampled limits the events that a test replays for an installation, which takes a few tenths of a
	// second. offered limits the events that it offers for recording.
	sampled, offered = 2_000, 50_000
	// longest limits the events of one history. A long one shows the same as a short one.
	longest = 1_000
)

// checkHistories replays some histories of the installation with this code, and returns their number.
// Each must replay, and none may contain private data.
func (s *system) checkHistories() (checked int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	most := int64(sampled)
	if *record != "" && !s.t.Failed() {
		most = offered
	}
	all, err := s.executions(ctx, "")
	if err != nil {
		s.t.Logf("histories are not checked: %v", err) // the test has stopped its Temporal
		return 0
	}
	began := time.Now()
	for _, run := range sampleOf(all, most) {
		if s.checkHistory(ctx, run) {
			checked++
		}
	}
	s.t.Logf("%d of %d histories replay, in %s", checked, len(all), time.Since(began).Round(time.Millisecond))
	return checked
}

// checkHistory checks one history, and reports whether this build can replay it.
func (s *system) checkHistory(ctx context.Context, run *workflowpb.WorkflowExecutionInfo) bool {
	id := run.GetExecution().GetWorkflowId()
	events, err := replay.Fetch(ctx, s.temporal, id, run.GetExecution().GetRunId())
	if err != nil || !replay.Begun(events) || byOtherBuild(events) {
		return false // deleted meanwhile, not begun, or another build's
	}
	if _, readable, err := replaytest.Payloads(ctx, events); err != nil || !readable {
		return false // encrypted
	}
	if err := replay.Run(events); err != nil {
		s.t.Errorf("%s %s does not replay: %v", run.GetType().GetName(), id, err)
		return false
	}
	if found, err := replaytest.Private(ctx, events); err != nil || len(found) > 0 {
		s.t.Errorf("the history of %s %s has private data: %v %v", run.GetType().GetName(), id, found, err)
		return false
	}
	if *record != "" && !s.t.Failed() {
		require.NoError(s.t, recorded.Add(events))
	}
	return true
}

// byOtherBuild reports whether workers of another generation did a task.
func byOtherBuild(events []*historypb.HistoryEvent) bool {
	own := strconv.Itoa(workflows.CommandVersion)
	return slices.ContainsFunc(events, func(event *historypb.HistoryEvent) bool {
		return !slices.Contains([]string{"", own}, event.GetWorkflowTaskCompletedEventAttributes().GetDeploymentVersion().GetBuildId())
	})
}

// executions lists the installation's workflows that also meet a condition.
func (s *system) executions(ctx context.Context, condition string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	queues := []string{workflows.EventsQueue(s.name)}
	for _, channel := range notification.Channels() {
		queues = append(queues, workflows.ChannelQueue(s.name, channel))
	}
	return rig.Workflows(ctx, s.temporal, fmt.Sprintf("TaskQueue IN ('%s')%s", strings.Join(queues, "', '"), condition))
}

// sampleOf picks workflows of each type, status and length of the history in turn. Together their
// histories have at most this number of events, and longest more.
func sampleOf(all []*workflowpb.WorkflowExecutionInfo, most int64) (picked []*workflowpb.WorkflowExecutionInfo) {
	type shape struct {
		kind   string
		status enums.WorkflowExecutionStatus
	}
	lengths := map[shape][]int64{}
	rounds := map[int][]*workflowpb.WorkflowExecutionInfo{}
	for _, run := range slices.SortedFunc(slices.Values(all), compareRuns) {
		of := shape{run.GetType().GetName(), run.GetStatus()}
		if run.GetHistoryLength() <= longest && !slices.Contains(lengths[of], run.GetHistoryLength()) {
			round := len(lengths[of])
			lengths[of], rounds[round] = append(lengths[of], run.GetHistoryLength()), append(rounds[round], run)
		}
	}
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		for _, run := range rounds[round] {
			if most > 0 {
				picked, most = append(picked, run), most-run.GetHistoryLength()
			}
		}
	}
	return picked
}

// compareRuns orders workflows by type, length of the history, and id.
func compareRuns(a, b *workflowpb.WorkflowExecutionInfo) int {
	return cmp.Or(cmp.Compare(a.GetType().GetName(), b.GetType().GetName()), cmp.Compare(a.GetHistoryLength(), b.GetHistoryLength()),
		cmp.Compare(a.GetExecution().GetWorkflowId(), b.GetExecution().GetWorkflowId()))
}

// writeHistories adds the recorded histories to the folder of -record. Histories that this code does
// not replay leave the folder.
func writeHistories() error {
	replays := func(events []*historypb.HistoryEvent) bool { return replay.Run(events) == nil }
	if err := recorded.Load(*record, replays); err != nil {
		return err
	}
	kept, err := recorded.Write(*record)
	fmt.Printf("%d histories in %s\n", kept, *record)
	return err
}
