package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// EscalateInput is the input of [Escalate]. It names the delivery to watch.
type EscalateInput struct {
	EventID    string
	EventType  string
	Aggregate  notification.Entity
	DeliveryID string
	UserType   notification.UserType
	UserID     string
	Escalation notification.Escalation
}

// EscalateResult is the result of [Escalate].
type EscalateResult struct {
	Outcome  notification.EscalationOutcome
	Reason   string `json:",omitempty"` // with the outcome DROPPED: the reason why no delivery follows
	Follower string `json:",omitempty"` // the delivery that follows
}

// escalateOptions makes a cancellation wait for the activity: it is short, and the workflow needs
// its stored result before it ends.
var escalateOptions = awaited(eventOptions(time.Minute, "check whether the delivery reached its recipient"))

// lookAgain is the minimum time between two checks without a signal: the database's clock may be
// behind Temporal's.
const lookAgain = time.Second

// Escalate checks whether a delivery reaches its recipient in time. If not, it plans and sends a
// delivery over another channel. The signal [Settled] makes it check at once. The activity decides
// from the delivery's row; the workflow only waits.
func Escalate(ctx workflow.Context, in EscalateInput) (EscalateResult, error) {
	since := workflow.Now(ctx)
	until := in.Escalation.Due(since, time.Time{}) // a delivery that waits itself gives the escalation a later time then
	wait := notification.InstantText(until) + in.Escalation.Then()
	look := activities.EscalateInput{
		EventID: in.EventID, DeliveryID: in.DeliveryID, UserType: in.UserType, UserID: in.UserID, Escalation: in.Escalation, Since: since,
	}
	defer settled(ctx) // later signals change nothing, and Temporal warns of unread signals
	for {
		if err := waitOrSettled(ctx, until, wait); err != nil {
			return EscalateResult{}, err
		}
		found, err := execute[activities.EscalateResult](ctx, escalateOptions, acts.Escalate, look)
		switch {
		case err != nil && ctx.Err() != nil:
			_ = record(ctx, acts.CancelFollower, activities.CancelFollowerInput{DeliveryID: in.DeliveryID}, nil)
			return EscalateResult{}, ctx.Err()
		case err != nil:
			return EscalateResult{}, err
		case found.Delivery != nil:
			return EscalateResult{Outcome: found.Outcome, Follower: found.Delivery.DeliveryID}, deliverFollower(ctx, in, found)
		case found.Outcome != "":
			return EscalateResult{Outcome: found.Outcome, Reason: found.Reason}, nil
		}
		until, wait = found.Until, found.Wait
		if soonest := workflow.Now(ctx).Add(lookAgain); until.Before(soonest) {
			until = soonest
		}
	}
}

// waitOrSettled waits until a time or a signal [Settled]. Its only error is that ctx was cancelled.
func waitOrSettled(ctx workflow.Context, until time.Time, why string) (err error) {
	if !settled(ctx) && workflow.Now(ctx).Before(until) {
		workflow.SetCurrentDetails(ctx, "waiting until "+why)
		selector := workflow.NewSelector(ctx)
		defer addTimer(ctx, selector, until, "until "+notification.InstantText(until), func(ended error) { err = ended })()
		selector.AddReceive(workflow.GetSignalChannel(ctx, Settled), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).Select(ctx)
	}
	return err
}

// settled reports whether a signal [Settled] was pending. It receives all pending signals, because
// one check is enough for all.
func settled(ctx workflow.Context) (told bool) {
	for workflow.GetSignalChannel(ctx, Settled).ReceiveAsync(nil) {
		told = true
	}
	return told
}

// deliverFollower sends the delivery that follows. If the escalation was cancelled while the
// delivery was planned, deliverFollower cancels the delivery, because nothing else does.
func deliverFollower(ctx workflow.Context, in EscalateInput, found activities.EscalateResult) error {
	if ctx.Err() != nil {
		end := activities.GiveUpInput{
			DeliveryID: found.Delivery.DeliveryID, Channel: found.Delivery.Channel, Status: notification.Cancelled,
			Reason: string(notification.CancelledInTemporal),
		}
		_ = record(ctx, acts.GiveUp, end, nil)
		return ctx.Err()
	}
	workflow.SetCurrentDetails(ctx, "the first delivery did not reach its recipient in time; waiting for "+found.Delivery.DeliveryID)
	deliverOne(ctx, batchEvent{id: in.EventID, eventType: in.EventType, aggregate: in.Aggregate}, *found.Delivery, found.Policy)
	return ctx.Err()
}

// escalateBeside runs [Escalate] concurrently with a delivery, signals it when the delivery has
// ended, and waits for both. If another type of workflow has the escalation's id, there is no
// escalation.
func escalateBeside(ctx workflow.Context, event batchEvent, d notification.Delivery, deliver func()) {
	ended := false
	escalations := newLimiter(ctx, 0)
	escalations.start(ctx, func(ctx workflow.Context) {
		options := recipientOptions(event, d, EscalationID(d.DeliveryID), d.Escalation.Then())
		holder, _ := runChild(ctx, options, EscalateType, func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			child := workflow.ExecuteChildWorkflow(ctx, Escalate, escalateInput(event, d))
			workflow.Go(ctx, func(ctx workflow.Context) {
				if err := workflow.Await(ctx, func() bool { return ended || child.IsReady() }); err == nil && !child.IsReady() {
					signalChild(ctx, child, options.WorkflowID, Settled)
				}
			})
			return child
		})
		if holder != "" {
			workflow.GetLogger(ctx).Error("cannot start an escalation: another workflow has its id", "workflow_id", options.WorkflowID, "by", holder)
		}
	})
	deliver()
	ended = true
	_ = escalations.wait(ctx)
}

func escalateInput(event batchEvent, d notification.Delivery) EscalateInput {
	return EscalateInput{
		EventID: event.id, EventType: event.eventType, Aggregate: event.aggregate,
		DeliveryID: d.DeliveryID, UserType: d.UserType, UserID: d.UserID, Escalation: *d.Escalation,
	}
}
