package workflows

import (
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// batchEvent is the event of a batch of deliveries.
type batchEvent struct {
	id, eventType string
	aggregate     notification.Entity
	again         bool // as in [NotifyInput]
}

// deliverAsChildren starts one child per delivery, and waits for all. Each channel has a separate limit,
// so that no channel waits for another. The only error is that ctx was cancelled, because callers
// read the outcome from the rows.
func deliverAsChildren(ctx workflow.Context, event batchEvent, batch activities.DeliveryBatch) error {
	workflow.SetCurrentDetails(ctx, batchDetails(batch))
	channels := newLimiter(ctx, 0)
	var limiters []*limiter
	for _, deliveries := range byChannel(batch.Deliveries) {
		open := newLimiter(ctx, openDeliveries)
		limiters = append(limiters, open)
		channels.start(ctx, func(ctx workflow.Context) {
			for _, d := range deliveries {
				if open.deliver(ctx, d, func(ctx workflow.Context) { deliverOne(ctx, event, d, batch.Policies[d.Channel]) }) != nil {
					break // ctx was cancelled
				}
			}
			_ = open.wait(ctx)
		})
	}
	releaseWaiting(ctx, limiters...)
	return channels.wait(ctx)
}

// byChannel groups deliveries by channel, in the order of the channels' first deliveries.
func byChannel(all []notification.Delivery) [][]notification.Delivery {
	var split [][]notification.Delivery
	place := map[notification.Channel]int{}
	for _, d := range all {
		i, found := place[d.Channel]
		if !found {
			i = len(split)
			place[d.Channel], split = i, append(split, nil)
		}
		split[i] = append(split[i], d)
	}
	return split
}

// deliverOne runs a delivery's workflow, and concurrently its escalation, if it has one.
func deliverOne(ctx workflow.Context, event batchEvent, d notification.Delivery, policy activities.DeliveryPolicy) {
	deliver := func() { runDelivery(ctx, event, d, policy) }
	if d.Escalation == nil {
		deliver()
		return
	}
	escalateBeside(ctx, event, d, deliver)
}

// runDelivery runs a delivery's workflow. If another type of workflow has its id,
// the delivery fails.
func runDelivery(ctx workflow.Context, event batchEvent, d notification.Delivery, policy activities.DeliveryPolicy) {
	holder, _ := runChild(ctx, deliveryOptions(event, d, policy), DeliverNotificationType,
		func(ctx workflow.Context) workflow.ChildWorkflowFuture {
			return workflow.ExecuteChildWorkflow(ctx, DeliverNotification, deliverInput(d, policy))
		})
	if holder != "" {
		failed := activities.GiveUpInput{
			DeliveryID: d.DeliveryID, Channel: d.Channel, Status: notification.Failed, Reason: "the id is taken by " + holder,
		}
		_ = record(ctx, acts.GiveUp, failed, nil)
	}
}

func deliverInput(d notification.Delivery, policy activities.DeliveryPolicy) DeliverInput {
	return DeliverInput{DeliveryID: d.DeliveryID, Channel: d.Channel, Policy: policy, HoldsSlot: !d.Waits()}
}

// batchDetails describes what an event's workflow waits for, for operators.
func batchDetails(batch activities.DeliveryBatch) string {
	waiting := 0
	for _, d := range batch.Deliveries {
		if d.Later {
			waiting++
		}
	}
	return fmt.Sprintf("waiting for %d deliveries, of which %d are sent later; each is a child workflow", len(batch.Deliveries), waiting)
}

func deliveryOptions(event batchEvent, d notification.Delivery, policy activities.DeliveryPolicy) workflow.ChildWorkflowOptions {
	options := recipientOptions(event, d, d.DeliveryID, "")
	options.TaskQueue, options.Priority = policy.TaskQueue, Priority(d.Priority, event.aggregate)
	if event.again {
		options.WorkflowIDReusePolicy = allowDuplicate
	}
	return options
}

// recipientOptions returns the options of a child for one recipient.
func recipientOptions(event batchEvent, d notification.Delivery, id, more string) workflow.ChildWorkflowOptions {
	recipient := string(d.UserType) + "/" + d.UserID
	return childOptions(event, d.Channel, id, fmt.Sprintf("%s to %s%s", d.Channel, recipient, more), RecipientAttribute.ValueSet(recipient))
}

// childOptions cancels a child together with its event, which then waits for the child's end. If
// the event runs again, the child runs again, too, unless it completed. The search attributes name
// the event and the channel, so that a query finds every child.
func childOptions(
	event batchEvent, channel notification.Channel, id, summary string, attributes ...temporal.SearchAttributeUpdate,
) workflow.ChildWorkflowOptions {
	attributes = append(attributes,
		EventTypeAttribute.ValueSet(event.eventType), AggregateAttribute.ValueSet(event.aggregate.String()),
		ChannelAttribute.ValueSet(string(channel)))
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
		Memo:                  map[string]any{"event_id": event.id},
		StaticSummary:         summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
	}
}
