package explain

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"herald/workflows"
)

// Divergence is the first workflow task in which this build does something else than
// was recorded.
type Divergence struct {
	EventID  int64    `json:"event_id"` // that completed the workflow task
	Recorded []string `json:"recorded"` // what the history has of this workflow task
	Wanted   []string `json:"wanted"`   // what this build asks for in it, up to where it was stopped
	Message  string   `json:"message"`  // of the SDK
}

// Replay replays a history against this build, which changes nothing: nothing is
// sent or written. It returns nil where the build does what was recorded. To find
// the first workflow task in which it does not, it replays beginnings of the history,
// which diverge from that task on.
func Replay(ctx context.Context, h History) (*Divergence, error) {
	events := h.recorded
	events = events[:endOfTask(events, lastTask(events))] // the workflow has not answered yet what came later
	problem, _, err := replay(ctx, events)
	if problem == nil || err != nil {
		return nil, err
	}
	var beginnings []int // how many events each has: all up to the next workflow task
	for i, event := range events {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED && lastTask(events[:i]) >= 0 {
			beginnings = append(beginnings, i)
		}
	}
	shortest := len(events)
	sort.Search(len(beginnings), func(i int) bool {
		if err != nil {
			return true
		}
		var earlier error
		if earlier, _, err = replay(ctx, events[:beginnings[i]]); earlier != nil {
			problem, shortest = earlier, beginnings[i] // the last of these is the shortest
		}
		return earlier != nil
	})
	if err != nil {
		return nil, err
	}
	return divergence(ctx, events[:shortest], problem)
}

// divergence compares what was recorded in the last workflow task with what this
// build asks for in it.
func divergence(ctx context.Context, events []*historypb.HistoryEvent, problem error) (*Divergence, error) {
	task := lastTask(events)
	end := endOfTask(events, task)
	_, asked, err := replay(ctx, events[:end])
	if err != nil {
		return nil, err
	}
	d := &Divergence{EventID: events[task].GetEventId(), Recorded: []string{}, Wanted: []string{}, Message: problem.Error()}
	if asked.history == int(events[task].GetWorkflowTaskCompletedEventAttributes().GetStartedEventId()) {
		d.Wanted = asked.made
	}
	for _, event := range events[task+1 : end] {
		d.Recorded = append(d.Recorded, describe(event))
	}
	return d, nil
}

// lastTask is the index of the last event that completed a workflow task; -1: none did.
func lastTask(events []*historypb.HistoryEvent) int {
	for i, event := range slices.Backward(events) {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return i
		}
	}
	return -1
}

// endOfTask is the index behind the events that stand for the commands of a workflow
// task.
func endOfTask(events []*historypb.HistoryEvent, task int) int {
	end := task + 1
	for end < len(events) && broughtBy(events[task].GetEventId(), events[end]) {
		end++
	}
	return end
}

// broughtBy says that an event stands for a command of that workflow task.
func broughtBy(task int64, event *historypb.HistoryEvent) bool {
	message := event.ProtoReflect()
	attributes := message.WhichOneof(message.Descriptor().Oneofs().ByName("attributes"))
	if attributes == nil {
		return false
	}
	of := message.Get(attributes).Message()
	field := of.Descriptor().Fields().ByName("workflow_task_completed_event_id")
	return field != nil && of.Get(field).Int() == task
}

// replay replays a beginning of a history. It returns the problem that the SDK found,
// and what this build asked for.
func replay(ctx context.Context, events []*historypb.HistoryEvent) (problem error, asked *calls, err error) {
	type result struct {
		problem, err error
		asked        calls
	}
	done := make(chan *result, 1)
	go func() {
		r := &result{}
		defer func() {
			if panicked := recover(); panicked != nil {
				r.err = badHistory("the history is malformed: %.300s", fmt.Sprint(panicked))
			}
			done <- r
		}()
		r.problem, r.err = runReplayer(events, &r.asked)
	}()
	select {
	case r := <-done:
		return r.problem, &r.asked, r.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

func runReplayer(events []*historypb.HistoryEvent, wanted *calls) (problem, err error) {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DisableDeadlockDetection: true, // a busy machine may need more than the second that it allows
		Interceptors:             []interceptor.WorkerInterceptor{&recorder{calls: wanted}},
	})
	if err != nil {
		return nil, err
	}
	for _, f := range workflows.All() {
		replayer.RegisterWorkflow(f)
	}
	copied := proto.Clone(&historypb.History{Events: events}).(*historypb.History) // a replay changes memos
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), copied), nil
}

// describe names an event: ActivityTaskScheduled Send.
func describe(event *historypb.HistoryEvent) string {
	name := event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() +
		event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowType().GetName()
	return strings.TrimSpace(event.GetEventType().String() + " " + name)
}
