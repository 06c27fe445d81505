package workflows

import (
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// NotifyInput is the input of [NotifyEvent]. Only EventID is set at the start;
// the rest is what a long broadcast hands to its next run.
type NotifyInput struct {
	EventID   string
	Publish   bool                 // publish the event's message to RabbitMQ
	After     *notification.Cursor `json:",omitempty"` // recipients up to here were told by earlier runs
	Pages     int                  `json:",omitempty"` // how many pages those were
	Published bool                 `json:",omitempty"`
}

// NotifyResult is the result of [NotifyEvent].
type NotifyResult struct {
	Outcome    string                        `json:",omitempty"` // NO_RECIPIENTS, NO_ROUTING; empty: somebody was to be told
	Problem    string                        `json:",omitempty"` // why, or what was wrong with some of the rules
	Deliveries map[notification.Status]int   // by status
	Decisions  map[notification.Decision]int // by reason
}

// The activities of an event are short, and are tried until they succeed: to
// lose an event is worse than to wait for a database or a broker.
var (
	planOptions    = eventOptions(time.Minute, "plan the deliveries of a page of recipients")
	listOptions    = eventOptions(30*time.Second, "read a planned page")
	publishOptions = eventOptions(20*time.Second, "publish the event to RabbitMQ")
	finishOptions  = eventOptions(time.Minute, "count the deliveries and mark the event as ended")
)

func eventOptions(timeout time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	}
}

const (
	// openPages bounds the pages of a broadcast that are being sent at once.
	openPages = 4
	// waitingPages bounds those whose deliveries wait for a time of their own:
	// 40,000 recipients, if there is one on every page. Beyond it, the next
	// page is planned when the first of them are through.
	waitingPages = 400
	// waitedHistory is how long the history may become while pages wait; then
	// they are waited for, since children do not survive continue-as-new.
	waitedHistory = 9_000
)

// NotifyEvent tells everybody who should hear of one event. It publishes the
// event's message beside the deliveries, plans page by page, and starts one
// child per recipient and channel: its own where the recipients fit on a page,
// those of page workflows otherwise. It ends when all of them have. A delivery
// that fails fails neither its siblings nor the event.
func NotifyEvent(ctx workflow.Context, in NotifyInput) (NotifyResult, error) {
	published := publishEvent(ctx, in)
	result, next, err := deliverAll(ctx, in)
	if next != nil && err == nil {
		next.Published = published.IsReady() // if not, the next run publishes, perhaps once more
		return NotifyResult{}, workflow.NewContinueAsNewError(ctx, NotifyEvent, *next)
	}
	if publishErr := published.Get(ctx, nil); err == nil {
		err = publishErr
	}
	return finishEvent(ctx, in.EventID, result, err)
}

// finishEvent records how the event ended, even when it was cancelled.
func finishEvent(ctx workflow.Context, eventID string, result NotifyResult, err error) (NotifyResult, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	var counts notification.Counts
	finish := activities.FinishEventInput{EventID: eventID, Success: err == nil}
	finishErr := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, finishOptions), acts.FinishEvent, finish).Get(ctx, &counts)
	if err == nil {
		err = finishErr
	}
	result.Deliveries, result.Decisions = counts.Deliveries, counts.Decisions
	setOutcome(ctx, eventOutcome(result, err))
	return result, err
}

// publishEvent starts publishing and does not wait for it.
func publishEvent(ctx workflow.Context, in NotifyInput) workflow.Future {
	if !in.Publish || in.Published {
		done, settable := workflow.NewFuture(ctx)
		settable.Set(nil, nil)
		return done
	}
	ctx = workflow.WithActivityOptions(ctx, publishOptions)
	return workflow.ExecuteActivity(ctx, acts.PublishEvent, activities.PublishEventInput{EventID: in.EventID})
}

// pages are the open page workflows of a broadcast.
type pages struct {
	sending, waiting *window
}

// deliverAll tells all recipients, and waits until every delivery has ended. A
// next input is what is left for another run, whose history starts anew.
func deliverAll(ctx workflow.Context, in NotifyInput) (NotifyResult, *NotifyInput, error) {
	open := pages{sending: newWindow(ctx, openPages), waiting: newWindow(ctx, waitingPages)}
	result, next, err := planPages(ctx, in, open)
	for _, window := range []*window{open.sending, open.waiting} {
		if waitErr := window.wait(ctx); err == nil {
			err = waitErr
		}
	}
	return result, next, err
}

// planPages plans page by page and hands each page on as soon as it is planned.
func planPages(ctx workflow.Context, in NotifyInput, open pages) (result NotifyResult, next *NotifyInput, err error) {
	plan := activities.PlanInput{EventID: in.EventID}
	if in.After != nil {
		plan.After = *in.After
	}
	for page := in.Pages + 1; ; page++ {
		var planned activities.PlanResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, planOptions), acts.PlanDeliveries, plan).Get(ctx, &planned); err != nil {
			return result, nil, err
		}
		result.Outcome, result.Problem = planned.Outcome, planned.Problem
		if len(planned.Batch.Deliveries) > 0 {
			return result, nil, deliverBatch(ctx, batchEvent{in.EventID, planned.EventType, planned.Aggregate}, planned.Batch)
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of recipients planned; each that has deliveries is a child workflow", page))
		if err := startPage(ctx, in.EventID, page, planned, open); err != nil || planned.Next == nil {
			return result, nil, err
		}
		plan.After = *planned.Next
		info := workflow.GetInfo(ctx)
		if info.GetContinueAsNewSuggested() && (open.waiting.open == 0 || info.GetCurrentHistoryLength() > waitedHistory) {
			return result, &NotifyInput{EventID: in.EventID, Publish: in.Publish, After: planned.Next, Pages: page}, nil
		}
	}
}

// startPage starts the workflows of a page: one for what is to be sent at once,
// and one for what waits. Its only error is cancellation.
func startPage(ctx workflow.Context, eventID string, page int, planned activities.PlanResult, open pages) error {
	start := func(in *window, waiting bool) error {
		input := PageInput{EventID: eventID, EventType: planned.EventType, Aggregate: planned.Aggregate, IDs: planned.Stored, Waiting: waiting}
		return in.run(ctx, func(ctx workflow.Context) {
			ctx = workflow.WithChildOptions(ctx, pageOptions(eventID, page, waiting))
			_ = workflow.ExecuteChildWorkflow(ctx, NotifyPage, input).Get(ctx, nil) // it reports through its rows
		})
	}
	if planned.Immediate > 0 { // first, for a place among those that wait may not be free until the morning
		if err := start(open.sending, false); err != nil {
			return err
		}
	}
	if planned.Waiting > 0 {
		return start(open.waiting, true)
	}
	return nil
}

// pageOptions let a page run again when its event does: what was delivered then
// is not delivered twice, since the deliveries' own ids see to that.
func pageOptions(eventID string, page int, waiting bool) workflow.ChildWorkflowOptions {
	id, summary := fmt.Sprintf("%s-page-%d", eventID, page), fmt.Sprintf("page %d of the recipients", page)
	if waiting {
		id, summary = id+"-waiting", summary+": what is sent later"
	}
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
		StaticSummary:         summary,
	}
}

// eventOutcome is the event's HeraldOutcome; empty where all went its way.
func eventOutcome(result NotifyResult, err error) string {
	switch {
	case temporal.IsCanceledError(err):
		return string(notification.Cancelled)
	case err != nil:
		return string(notification.Failed)
	default:
		return result.Outcome
	}
}

// setOutcome makes an end that is not SENT findable.
func setOutcome(ctx workflow.Context, outcome string) {
	if outcome == "" {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, OutcomeAttribute.ValueSet(outcome)); err != nil {
		workflow.GetLogger(ctx).Error("search attribute not set", "error", err)
	}
}
