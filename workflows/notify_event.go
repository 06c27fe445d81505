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

// openPages bounds the pages of a broadcast that are delivered at once.
const openPages = 4

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

// deliverAll tells all recipients, and waits until every delivery has ended. A
// next input is what is left for another run, whose history starts anew.
func deliverAll(ctx workflow.Context, in NotifyInput) (NotifyResult, *NotifyInput, error) {
	open := newWindow(ctx, openPages)
	result, next, err := planPages(ctx, in, open)
	if waitErr := open.wait(ctx); err == nil {
		err = waitErr
	}
	return result, next, err
}

// planPages plans page by page and hands each page on as soon as it is planned.
func planPages(ctx workflow.Context, in NotifyInput, open *window) (result NotifyResult, next *NotifyInput, err error) {
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
		if err := deliverPage(ctx, in.EventID, page, planned, open); err != nil || planned.Next == nil {
			return result, nil, err
		}
		plan.After = *planned.Next
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return result, &NotifyInput{EventID: in.EventID, Publish: in.Publish, After: planned.Next, Pages: page}, nil
		}
	}
}

// deliverPage delivers a page: here, where it is the only one, or in a page
// workflow. Its only error is cancellation.
func deliverPage(ctx workflow.Context, eventID string, page int, planned activities.PlanResult, open *window) error {
	switch {
	case len(planned.Batch.Deliveries) > 0:
		return deliverBatch(ctx, planned.EventType, planned.Aggregate, planned.Batch)
	case planned.Stored.Last == 0:
		return nil // nothing was selected
	}
	input := PageInput{EventID: eventID, EventType: planned.EventType, Aggregate: planned.Aggregate, IDs: planned.Stored}
	return open.run(ctx, func(ctx workflow.Context) {
		ctx = workflow.WithChildOptions(ctx, pageOptions(eventID, page))
		_ = workflow.ExecuteChildWorkflow(ctx, NotifyPage, input).Get(ctx, nil) // it reports through its rows
	})
}

func pageOptions(eventID string, page int) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            fmt.Sprintf("%s-page-%d", eventID, page),
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
		StaticSummary:         fmt.Sprintf("page %d of the recipients", page),
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
