package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// RetryStore is the part of the database that ReopenDelivery needs.
type RetryStore interface {
	Reopening(ctx context.Context, deliveryID string) (notification.Reopening, error)
	Reopen(ctx context.Context, plan notification.Reopened) (notification.ReopenedState, error)
}

// ReopenInput is the input of [Activities.ReopenDelivery].
type ReopenInput struct {
	DeliveryID string
	Again      bool // reopen the delivery even if it was sent
}

// ReopenResult is the result of [Activities.ReopenDelivery].
type ReopenResult struct {
	Status         notification.Status // PENDING: the delivery may be sent; otherwise it ended meanwhile
	AttemptsBefore int                 // the attempts of earlier runs
	Policy         DeliveryPolicy      // of its channel, on this worker
	Waits          bool                `json:",omitempty"` // the delivery waits for its own time, and the rules then apply as in its first run
}

// ReopenDelivery plans one delivery again, for the run that calls it. It reads the current
// address, writes the text by the current templates, and makes the delivery PENDING. If the
// delivery cannot be sent, it is FAILED, and the failure is permanent. A repeat
// returns the result that the first call stored.
func (a *Activities) ReopenDelivery(ctx context.Context, in ReopenInput) (ReopenResult, error) {
	found, err := a.Retries.Reopening(ctx, in.DeliveryID)
	if err != nil {
		return ReopenResult{}, failure(err)
	}
	plan, err := a.planAnew(ctx, found)
	if err != nil {
		return ReopenResult{}, err
	}
	plan.DeliveryID, plan.Again = in.DeliveryID, in.Again
	if plan.Problem != "" {
		plan.SendAfter = nil
	}
	plan.RunID = activity.GetInfo(ctx).WorkflowExecution.RunID
	state, err := a.Retries.Reopen(ctx, plan)
	switch {
	case err != nil:
		return ReopenResult{}, failure(err)
	case state.Status == notification.Failed:
		return ReopenResult{}, permanent(errors.New(state.LastError), NoText)
	}
	return ReopenResult{
		Status: state.Status, AttemptsBefore: state.Attempts, Policy: a.Policies[found.Channel], Waits: !state.SendAfter.IsZero(),
	}, nil
}

// planAnew writes the text of one delivery, or keeps its old text if the event's row was purged.
func (a *Activities) planAnew(ctx context.Context, found notification.Reopening) (notification.Reopened, error) {
	plan := notification.Reopened{Address: found.Recipient.Address(found.Channel), KeepText: true, Problem: found.Problem()}
	if plan.Problem != "" {
		return plan, nil
	}
	setup, err := a.Plans.EventSetup(ctx, found.EventID)
	at, problem := found.OwnTime(setup, time.Now())
	if !at.IsZero() {
		plan.SendAfter = &at
	}
	switch {
	case errors.Is(err, notification.ErrNoEvent) && found.HasText:
		return plan, nil
	case errors.Is(err, notification.ErrNoEvent):
		plan.Problem = "it has no text, and its event was purged"
		return plan, nil
	case err != nil:
		return notification.Reopened{}, err
	}
	plan.KeepText = false
	if plan.Problem = problem; problem != "" {
		return plan, nil
	}
	texts := a.EventTexts
	if found.Escalated(setup) {
		texts = a.EscalatedTexts
	}
	text, err := texts(setup.Event, setup.Templates).Render(ctx, found.Channel, found.Recipient)
	if err := ctx.Err(); err != nil {
		return notification.Reopened{}, err
	}
	if err != nil {
		plan.Problem = err.Error()
		return plan, nil
	}
	plan.Title, plan.Body, plan.URL = &text.Title, &text.Body, text.URL
	return plan, nil
}
