package activities

import (
	"context"
	"errors"

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
	plan, err := a.Planner.Reopen(ctx, found)
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
