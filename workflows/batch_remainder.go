package workflows

import (
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// batchRest is a batch after its first attempts.
type batchRest struct {
	in    BatchInput
	open  *limiter // failed workflows
	pages *limiter
}

// openFailed limits the failed workflows that a batch has open at once.
const openFailed = 400

// showFailed starts failed workflows for permanently failed deliveries.
func (b batchRest) showFailed(ctx workflow.Context) error {
	for claim := (activities.ClaimFailedInput{Part: b.in.part()}); ; {
		claimed, err := execute[activities.ClaimFailedResult](ctx, listOptions, acts.ClaimFailed, claim)
		if err != nil {
			return err
		}
		for _, d := range claimed.Failed {
			if err := b.open.run(ctx, d.DeliveryID, func(ctx workflow.Context) { b.showOne(ctx, d) }); err != nil {
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

// deliverLeft sends the deliveries that have left the batch, in pages, and counts the pages. A page whose
// deliveries only wait delays no other page.
func (b batchRest) deliverLeft(ctx workflow.Context) (count int, err error) {
	workflow.SetCurrentDetails(ctx, "the batch is sent; each delivery that failed temporarily or waits has a workflow")
	part := b.in.part()
	for look := (activities.NextInput{
		EventID: b.in.EventID, Lane: part.Lane, After: b.in.IDs.First - 1, Last: b.in.IDs.Last, Pending: true,
	}); ; {
		next, err := execute[activities.NextResult](ctx, listOptions, acts.NextDeliveries, look)
		if err != nil || next.Last == 0 {
			return count, err
		}
		count++
		look.After, part.IDs = next.Last, next.IDRange
		options := restOptions(b.in.event(), b.in, count)
		page := PageInput{Part: part, EventType: b.in.EventType, Aggregate: b.in.Aggregate, Again: b.in.Again, Pending: true}
		if err := b.pages.run(ctx, options.WorkflowID, func(ctx workflow.Context) { runPage(ctx, options, page) }); err != nil {
			return count, err
		}
	}
}
