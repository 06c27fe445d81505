package main

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"sort"
	"strconv"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"herald/internal/console"
	"herald/workflows"
)

// divergence is the first place where a build does not do what was done.
type divergence struct {
	EventID  int64  `json:"event_id"` // where the message names none: of the workflow task
	Expected string `json:"expected"` // what the history has there
	Actual   string `json:"actual"`   // what the build does; empty: the message does not tell
	Code     string `json:"code"`     // Temporal's, such as TMPRL1100
	Message  string `json:"message"`
}

// diverges replays a history; nil: cleanly. To find the first place, it replays
// beginnings of the history, which diverge from that place on.
func diverges(ctx context.Context, recorded *history.History) (*divergence, error) {
	events := answered(recorded.Events)
	problem, err := replay(ctx, events)
	if problem == nil || err != nil {
		return nil, err
	}
	ends := []int{}
	for i, event := range events {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED && i > 2 {
			ends = append(ends, i)
		}
	}
	end := len(events)
	sort.Search(len(ends), func(i int) bool {
		if err != nil {
			return true
		}
		var earlier error
		if earlier, err = replay(ctx, events[:ends[i]]); earlier != nil {
			problem, end = earlier, ends[i] // the last of these is the shortest
		}
		return earlier != nil
	})
	if err != nil {
		return nil, err
	}
	return explainProblem(problem.Error(), events[:end]), nil
}

// answered leaves out what came behind the last workflow task that a worker
// completed, and what that brought: a signal, a cancellation, attempts at a task
// that nobody has completed. What the workflow makes of it is not on record yet.
func answered(events []*history.HistoryEvent) []*history.HistoryEvent {
	task := taskOf(events)
	end := task
	for end < len(events) && broughtBy(int64(task), events[end]) {
		end++
	}
	return events[:end]
}

// broughtBy says that an event stands for a command of that workflow task.
func broughtBy(task int64, event *history.HistoryEvent) bool {
	message := event.ProtoReflect()
	attributes := message.WhichOneof(message.Descriptor().Oneofs().ByName("attributes"))
	if attributes == nil {
		return false
	}
	of := message.Get(attributes).Message()
	field := of.Descriptor().Fields().ByName("workflow_task_completed_event_id")
	return field != nil && of.Get(field).Int() == task
}

// replay replays a beginning of a history. The problem is what the replayer
// found; the error, that it could not look.
func replay(ctx context.Context, events []*history.HistoryEvent) (problem, err error) {
	type answer struct{ problem, err error }
	answered := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if panicked := recover(); panicked != nil {
				a.err = misused(fmt.Errorf("the history is malformed: %s", shortened(fmt.Sprint(panicked))))
			}
			answered <- a
		}()
		// A machine that is busy may take longer than the second that the detector allows.
		replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
		if err != nil {
			a.err = err
			return
		}
		for _, f := range workflows.All() {
			replayer.RegisterWorkflow(f)
		}
		copied := proto.Clone(&history.History{Events: events}).(*history.History) // a replay changes memos
		a.problem = replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), copied)
	}()
	select {
	case a := <-answered:
		return a.problem, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// What the SDK's messages tell. They are not promised: what is not found stays
// out of the explanation, and the event is then that of the workflow task.
var (
	code     = regexp.MustCompile(`^\[(TMPRL\d+)\] `)
	place    = regexp.MustCompile(`(?:\(EventId:|ActivityId:|TimerId:|event position |scheduleEventID: |CommandType: \w+, ID: )(\d+)\b`)
	command  = regexp.MustCompile(`(?:, replay command is|extra replay command for) (\w+)(?:.*?(?:ActivityType|WorkflowType|workflow_type):[({][Nn]ame:"?(\w+))?`)
	missing  = regexp.MustCompile(`missing replay command for (\w+)`)
	returned = regexp.MustCompile(`command_type:(COMMAND_TYPE_\w+)`)
)

// explainProblem makes an operator's words of the replayer's. The last workflow task of
// the events is the one that diverges.
func explainProblem(problem string, events []*history.HistoryEvent) *divergence {
	if strings.HasPrefix(problem, "replay workflow doesn't return the same result") {
		return otherEnd(problem, events[len(events)-1])
	}
	d := &divergence{Message: problem}
	if found := code.FindStringSubmatch(problem); found != nil {
		d.Code, d.Message = found[1], strings.TrimPrefix(problem, found[0])
	}
	at := taskOf(events)
	extra := strings.Contains(problem, "extra replay command")
	if found := place.FindStringSubmatch(problem); found != nil && !extra { // an extra one has a number that nothing has yet
		if n, err := strconv.Atoi(found[1]); err == nil && n > 0 && n <= len(events) {
			at = n
		}
	}
	d.EventID, d.Expected = int64(at), describe(events[at-1])
	if found := command.FindStringSubmatch(problem); found != nil {
		d.Actual = strings.TrimSpace(found[1] + " " + found[2])
	}
	if found := missing.FindStringSubmatch(problem); found != nil {
		d.Expected = found[1]
	}
	if extra {
		d.Expected = "nothing more of this workflow task"
	}
	d.Message = shortened(withoutParentheses(d.Message))
	return d
}

// otherEnd explains a workflow that ends otherwise than it did. What it returns
// is not shown.
func otherEnd(problem string, last *history.HistoryEvent) *divergence {
	d := &divergence{
		EventID: last.GetEventId(), Expected: describe(last), Actual: "goes on waiting",
		Message: "the workflow does not end as it did",
	}
	if found := returned.FindStringSubmatch(problem); found != nil {
		d.Actual = enums.CommandType(enums.CommandType_value[found[1]]).String()
	}
	return d
}

// taskOf is the number of the last event that completed a workflow task.
func taskOf(events []*history.HistoryEvent) int {
	for i := len(events); i > 0; i-- {
		if events[i-1].GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return i
		}
	}
	return len(events)
}

// describe names an event: ActivityTaskScheduled Send.
func describe(event *history.HistoryEvent) string {
	name := event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() +
		event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowType().GetName()
	return strings.TrimSpace(event.GetEventType().String() + " " + name)
}

// withoutParentheses leaves out what stands in parentheses, however deep.
func withoutParentheses(text string) string {
	var kept strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')' && depth > 0:
			depth--
		case depth == 0:
			kept.WriteRune(r)
		}
	}
	return strings.NewReplacer(": ,", ",", " ,", ",").Replace(strings.TrimRight(kept.String(), ": "))
}

// shortened bounds a text that comes from elsewhere, on one line.
func shortened(text string) string { return console.Cut(text, 300) }
