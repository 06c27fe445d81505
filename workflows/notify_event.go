package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// NotifyInput is the input of [NotifyEvent].
type NotifyInput struct {
	EventID string
	Source  string // the outbox of the event
	Publish bool   // publish the event's message to RabbitMQ
	Cancels string `json:",omitempty"` // the event that this event cancels; empty: none
	Again   bool   `json:",omitempty"` // send open deliveries whose workflow completed, too: Postgres lost their end
}

// NotifyResult is the result of [NotifyEvent].
type NotifyResult struct {
	Outcome    notification.EventOutcome     `json:",omitempty"`
	Problem    string                        `json:",omitempty"` // the reason for the outcome, or the faults of rules
	Deliveries map[notification.Status]int   // by status
	Decisions  map[notification.Decision]int // by reason

	Cancelled map[notification.Status]int `json:",omitempty"` // deliveries of the event that this event cancels, by status
}

// The activities of an event are short, and Temporal retries them until they succeed: losing an
// event is worse than waiting for a database or a broker.
var (
	planOptions    = heartbeating(5*time.Minute, time.Minute, "plan the deliveries to the next recipients")
	cancelOptions  = heartbeating(5*time.Minute, time.Minute, "cancel the unsent deliveries of the other event")
	listOptions    = eventOptions(30*time.Second, "read planned deliveries")
	publishOptions = eventOptions(20*time.Second, "publish the event to RabbitMQ")
	finishOptions  = heartbeating(10*time.Minute, time.Minute, "count the deliveries and mark the event as ended")
)

// planFirst and publishFirst limit the local activities at the start of an event, finishFirst the
// local activity at its end. The workflow task and the deliveries wait for planFirst and
// publishFirst: a broker that hangs delays them by at most one second.
var (
	planFirst    = firstTry(5*time.Second, planOptions.Summary)
	publishFirst = firstTry(time.Second, publishOptions.Summary)
	finishFirst  = firstTry(5*time.Second, finishOptions.Summary)
)

// execute runs an activity to its end.
func execute[Result any](ctx workflow.Context, options workflow.ActivityOptions, activity, input any) (result Result, err error) {
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, input).Get(ctx, &result)
	return result, err
}

func eventOptions(timeout time.Duration, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	}
}

// heartbeating returns the options of a long activity that sends heartbeats; its longest statement
// takes 30 s. A cancelled event waits for the activity's end, so that no row changes after the
// event has counted the rows.
func heartbeating(timeout, heartbeat time.Duration, summary string) workflow.ActivityOptions {
	options := awaited(eventOptions(timeout, summary))
	options.HeartbeatTimeout = heartbeat
	return options
}

// awaited makes a cancelled workflow wait for the end of the activity.
func awaited(options workflow.ActivityOptions) workflow.ActivityOptions {
	options.WaitForCancellation = true
	return options
}

// CommandVersion is the generation of the commands that the workflows of this build issue. It is the
// build ID of the build's workers. A change of commands raises it.
const CommandVersion = 1

// pagesAtOnce limits the pages of recipients that one activity plans. A broadcast to a million
// people adds a few hundred events to its workflow's history.
const pagesAtOnce = 100

// NotifyEvent notifies all recipients of one event. If the event cancels another event, NotifyEvent
// cancels that event first. It publishes the event's message while it plans the deliveries. If the
// recipients fit on a page, it starts one child per recipient and channel. Otherwise it starts one
// [NotifyChannel] per channel, so that a slow channel does not delay other channels. It ends when
// all children have ended. A failed delivery does not fail other deliveries or the event.
func NotifyEvent(ctx workflow.Context, in NotifyInput) (NotifyResult, error) {
	published := publishEvent(ctx, in)
	cancelled, err := cancelOther(ctx, in)
	var result NotifyResult
	if err == nil {
		result, err = deliverAll(ctx, in)
	}
	result.Cancelled = cancelled
	err = cmp.Or(err, awaitPublished(ctx, published))
	result, err = finishEvent(ctx, in, result, err)
	_ = published.Get(ctx, nil) // ready, unless the event was cancelled
	return result, err
}

// awaitPublished waits until RabbitMQ has the event's message, or until the event is
// cancelled.
func awaitPublished(ctx workflow.Context, published workflow.Future) error {
	if err := workflow.Await(ctx, published.IsReady); err != nil {
		workflow.SetCurrentDetails(ctx, "cancelled; RabbitMQ does not have the event's message yet")
		return err
	}
	return published.Get(ctx, nil)
}

// cancelOther cancels the event that this event cancels, and returns that event's deliveries by
// status.
func cancelOther(ctx workflow.Context, in NotifyInput) (map[notification.Status]int, error) {
	if in.Cancels == "" {
		return nil, nil
	}
	workflow.SetCurrentDetails(ctx, "cancelling the unsent deliveries of event "+in.Cancels)
	input := activities.CancelEventInput{EventID: in.Cancels, By: in.EventID}
	cancelled, err := execute[activities.CancelEventResult](ctx, cancelOptions, acts.CancelEvent, input)
	return cancelled.Deliveries, cmp.Or(ctx.Err(), err)
}

// finishEvent records the event's end, even if the event was cancelled.
func finishEvent(ctx workflow.Context, in NotifyInput, result NotifyResult, err error) (NotifyResult, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	success := err == nil && result.Outcome != notification.EventCancelled && result.Outcome != notification.EventRejected
	finish := activities.FinishEventInput{EventID: in.EventID, Success: success, Outcome: eventOutcome(result, err), Problem: result.Problem}
	counts, finishErr := recordEnd(ctx, finish)
	if err = cmp.Or(err, finishErr); err == nil {
		result.Outcome = counts.Outcome
	}
	result.Deliveries, result.Decisions = counts.Deliveries, counts.Decisions
	setOutcome(ctx, string(eventOutcome(result, err)))
	return result, err
}

// recordEnd tries once to record a success by a local activity. If its workflow task is lost, the
// event may be cancelled before the task is repeated. The event then ends as cancelled, by an
// activity that overwrites the row. So the row always has the workflow's end.
func recordEnd(ctx workflow.Context, end activities.FinishEventInput) (notification.Counts, error) {
	if end.Success {
		return first[notification.Counts](ctx, finishFirst, finishOptions, acts.FinishEvent, end)
	}
	return execute[notification.Counts](ctx, finishOptions, acts.FinishEvent, end)
}

// publishEvent starts to publish and does not wait. It also publishes the message of a cancelled
// event: consumers get the messages of all events.
func publishEvent(ctx workflow.Context, in NotifyInput) workflow.Future {
	published, settable := workflow.NewFuture(ctx)
	if !in.Publish {
		settable.Set(nil, nil)
		return published
	}
	input := activities.PublishEventInput{EventID: in.EventID}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_, err := first[activities.PublishEventResult](ctx, publishFirst, publishOptions, acts.PublishEvent, input)
		settable.Set(nil, err)
	})
	return published
}

// deliverAll plans the deliveries to all recipients, and waits until all deliveries
// have ended.
func deliverAll(ctx workflow.Context, in NotifyInput) (NotifyResult, error) {
	lanes := newLanes(ctx)
	result, err := plan(ctx, in, lanes)
	return result, cmp.Or(err, lanes.wait(ctx))
}

// plan plans the first page by one activity, so that sending begins soon, and then many pages per
// activity. A lane starts when its first row is planned, and reads the other rows itself.
func plan(ctx workflow.Context, notify NotifyInput, lanes *lanes) (result NotifyResult, err error) {
	workflow.SetCurrentDetails(ctx, "planning; one child workflow per channel already sends the planned deliveries")
	for in := (activities.PlanInput{EventID: notify.EventID, Source: notify.Source, Pages: 1}); ; in.Pages = pagesAtOnce {
		planned, err := planPages(ctx, in)
		if err != nil {
			return result, cmp.Or(ctx.Err(), err) // after a cancellation, err may be a failure of the statement
		}
		if planned.Outcome == notification.AwaitingApproval {
			if planned, err = afterApproval(ctx, notify, in, planned); err != nil {
				return result, err
			}
		}
		result.Outcome = planned.Outcome
		if result.Problem == "" || planned.Outcome != "" { // only the first page reports skipped people
			result.Problem = planned.Problem
		}
		lanes.bulk = lanes.bulk || planned.Bulk
		event := batchEvent{notify.EventID, planned.EventType, planned.Aggregate, notify.Again}
		if len(planned.Batch.Deliveries) > 0 {
			return result, deliverAsChildren(ctx, event, planned.Batch)
		}
		for _, lane := range planned.Lanes {
			lanes.start(ctx, event, lane)
		}
		if planned.Next == nil {
			workflow.SetCurrentDetails(ctx, "all recipients are planned; each channel is a child workflow")
			return result, nil
		}
		in.After = *planned.Next
	}
}

func planPages(ctx workflow.Context, in activities.PlanInput) (activities.PlanResult, error) {
	if in.Pages == 1 {
		return first[activities.PlanResult](ctx, planFirst, planOptions, acts.PlanDeliveries, in)
	}
	return execute[activities.PlanResult](ctx, planOptions, acts.PlanDeliveries, in)
}

func eventOutcome(result NotifyResult, err error) notification.EventOutcome {
	switch {
	case temporal.IsCanceledError(err):
		return notification.EventCancelled
	case err != nil:
		return notification.EventFailed
	default:
		return result.Outcome
	}
}

// setOutcome sets HeraldOutcome. Operators use it to find workflows that did not end as SENT.
func setOutcome(ctx workflow.Context, outcome string) {
	if outcome == "" {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, OutcomeAttribute.ValueSet(outcome)); err != nil {
		workflow.GetLogger(ctx).Error("search attribute not set", "error", err)
	}
}
