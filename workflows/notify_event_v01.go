package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// Events that release 0.1 started go on as they began: page by page, with one
// limit for all channels. Delete this file once no such event runs any more.

const (
	// openPagesV01 bounds the pages of a broadcast that are being sent at once.
	openPagesV01 = 4
	// waitingPagesV01 bounds those whose deliveries wait for a time of their own:
	// 40,000 recipients, if there is one on every page. Beyond it, the next
	// page is planned when the first of them are through.
	waitingPagesV01 = 400
	// waitedHistoryV01 is how long the history may become while pages wait. Past it
	// the event waits for them and continues as new, which children do not survive.
	waitedHistoryV01 = 9_000
)

var planOptionsV01 = eventOptions(time.Minute, "plan the deliveries of a page of recipients")

// notifyEventV01 is [NotifyEvent] as release 0.1 had it.
func notifyEventV01(ctx workflow.Context, in NotifyInput) (NotifyResult, error) {
	published := publishEvent(ctx, in)
	result, next, err := deliverAllV01(ctx, in)
	if next != nil && err == nil {
		next.Published = published.IsReady() // if not, the next run publishes, perhaps once more
		return NotifyResult{}, workflow.NewContinueAsNewError(ctx, NotifyEvent, *next)
	}
	if publishErr := published.Get(ctx, nil); err == nil {
		err = publishErr
	}
	return finishEvent(ctx, in, result, err)
}

// pagesV01 are the open page workflows of a broadcast.
type pagesV01 struct {
	sending, waiting *limiter
}

// deliverAllV01 tells all recipients, and waits until every delivery has ended. If
// the history has become long, it returns the input of the run that does the rest.
func deliverAllV01(ctx workflow.Context, in NotifyInput) (NotifyResult, *NotifyInput, error) {
	open := pagesV01{sending: newLimiter(ctx, openPagesV01), waiting: newLimiter(ctx, waitingPagesV01)}
	result, next, err := planPagesV01(ctx, in, open)
	for _, pages := range []*limiter{open.sending, open.waiting} {
		if waitErr := pages.wait(ctx); err == nil {
			err = waitErr
		}
	}
	return result, next, err
}

// planPagesV01 plans page by page and hands each page on as soon as it is planned.
func planPagesV01(ctx workflow.Context, in NotifyInput, open pagesV01) (result NotifyResult, next *NotifyInput, err error) {
	plan := activities.PlanInput{EventID: in.EventID}
	if in.After != nil {
		plan.After = *in.After
	}
	for page := in.Pages + 1; ; page++ {
		planned, err := execute[activities.PlanResult](ctx, planOptionsV01, acts.PlanDeliveries, plan)
		if err != nil {
			return result, nil, err
		}
		result.Outcome, result.Problem = planned.Outcome, planned.Problem
		if len(planned.Batch.Deliveries) > 0 {
			return result, nil, deliverBatchV01(ctx, batchEvent{in.EventID, planned.EventType, planned.Aggregate}, planned.Batch)
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of recipients planned; each that has deliveries is a child workflow", page))
		if err := startPageV01(ctx, in.EventID, page, planned, open); err != nil || planned.Next == nil {
			return result, nil, err
		}
		plan.After = *planned.Next
		info := workflow.GetInfo(ctx)
		if info.GetContinueAsNewSuggested() && (open.waiting.open == 0 || info.GetCurrentHistoryLength() > waitedHistoryV01) {
			return result, &NotifyInput{EventID: in.EventID, Publish: in.Publish, After: planned.Next, Pages: page}, nil
		}
	}
}

// startPageV01 starts the workflows of a page: one for what is to be sent at once,
// and one for what waits. Its only error is that ctx was cancelled.
func startPageV01(ctx workflow.Context, eventID string, page int, planned activities.PlanResult, open pagesV01) error {
	start := func(in *limiter, waiting bool) error {
		input := PageInput{EventID: eventID, EventType: planned.EventType, Aggregate: planned.Aggregate, IDs: planned.Stored, Waiting: waiting}
		return in.run(ctx, func(ctx workflow.Context) {
			options := partOptions(fmt.Sprintf("%s-page-%d", eventID, page), fmt.Sprintf("page %d of the recipients", page), waiting)
			ctx = workflow.WithChildOptions(ctx, options)
			_ = workflow.ExecuteChildWorkflow(ctx, NotifyPage, input).Get(ctx, nil) // it reports through its rows
		})
	}
	if planned.Immediate > 0 { // first, since a slot for a page that waits may not be free until the morning
		if err := start(open.sending, false); err != nil {
			return err
		}
	}
	if planned.Waiting > 0 {
		return start(open.waiting, true)
	}
	return nil
}

// deliverBatchV01 starts one child per delivery, with one limit for all channels, and
// waits for all. Its only error is that ctx was cancelled.
func deliverBatchV01(ctx workflow.Context, event batchEvent, batch activities.DeliveryBatch) error {
	workflow.SetCurrentDetails(ctx, batchDetails(batch))
	return deliverEach(ctx, batch.Deliveries, func(ctx workflow.Context, d notification.Delivery) {
		policy := batch.Policies[d.Channel]
		ctx = workflow.WithChildOptions(ctx, deliveryOptions(event, d, policy))
		_ = workflow.ExecuteChildWorkflow(ctx, DeliverNotification, deliverInput(d, policy)).Get(ctx, nil)
	})
}
