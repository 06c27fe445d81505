package workflows

import (
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// batchRest is a batch after its first attempts.
type batchRest struct {
	in   BatchInput
	open *limiter
}

// openAlone limits the delivery workflows that a batch has open at once.
const openAlone = 400

// showFailed starts failed workflows for permanently failed deliveries.
func (b batchRest) showFailed(ctx workflow.Context) error {
	for claim := (activities.ClaimFailedInput{Part: b.in.part()}); ; {
		claimed, err := execute[activities.ClaimFailedResult](ctx, listOptions, acts.ClaimFailed, claim)
		if err != nil {
			return err
		}
		for _, d := range claimed.Failed {
			if err := b.open.run(ctx, func(ctx workflow.Context) { b.showOne(ctx, d) }); err != nil {
				return err
			}
		}
		if claimed.Next == 0 {
			return nil
		}
		claim.IDs.First = claimed.Next
	}
}

// showOne starts the failed workflow of one delivery. It starts none if the delivery already has a
// workflow, for example because an operator retries it.
func (b batchRest) showOne(ctx workflow.Context, d notification.FailedDelivery) {
	ctx = workflow.WithChildOptions(ctx, deliveryOptions(b.in.event(), d.Delivery, b.in.Policy))
	in := DeliverInput{DeliveryID: d.DeliveryID, Channel: d.Channel, Policy: b.in.Policy, Failed: d.Reason}
	_ = workflow.ExecuteChildWorkflow(ctx, DeliverNotification, in).Get(ctx, nil)
}

// deliverLeft runs the workflows of the deliveries that have left the batch, and counts them.
func (b batchRest) deliverLeft(ctx workflow.Context) (count int, err error) {
	workflow.SetCurrentDetails(ctx, "the batch is sent; each delivery that failed temporarily has a workflow")
	err = eachListed(ctx, activities.ListInput{Part: b.in.part(), Pending: true}, func(d notification.Delivery, _ activities.DeliveryPolicy) error {
		count++
		return b.open.run(ctx, func(ctx workflow.Context) { runDelivery(ctx, b.in.event(), d, b.in.Policy) })
	})
	return count, err
}
