package operate

import (
	"context"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// batchOf is the workflow of the batch that sends a delivery, whose own does not run;
// empty: none does.
func (o *Operator) batchOf(ctx context.Context, state postgres.DeliveryState) (string, error) {
	if state.Status != notification.Pending {
		return "", nil
	}
	batch, err := launch.BatchOf(ctx, o.temporal(), state.EventID, state.Channel, state.Number)
	return batch.ID, err
}

// untold is the outcome of a delivery that has no workflow to be told anything.
func (o *Operator) untold(ctx context.Context, id string, state postgres.DeliveryState) (Outcome, error) {
	batch, err := o.batchOf(ctx, state)
	if err != nil || batch == "" {
		return unchanged(id, state), err
	}
	return inBatch(id, batch), nil
}

// inBatch is the outcome of a delivery that a batch sends, for a verb that would have changed
// its course.
func inBatch(id, batch string) Outcome {
	quoted := advice.Quote(id)
	return Outcome{
		ID: id, Result: "is being sent in a batch", Detail: "by the workflow " + batch + ", as soon as it can be",
		Next: "`starter delivery cancel " + quoted + "` keeps it back until it is sent; `starter delivery why " + quoted + "` says how far it is",
	}
}
