package workflows

import (
	"fmt"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// PageInput names one page of a broadcast's planned deliveries.
type PageInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	IDs       notification.IDRange
	Waiting   bool `json:",omitempty"` // its deliveries that wait for a time of their own; else those to be sent at once
}

// openDeliveries bounds the children of one workflow that are being sent. Those
// that wait for a delay or for the end of quiet hours take no place among them:
// they would hold up everybody else until the morning. A page has at most 500.
const openDeliveries = 100

// NotifyPage delivers one page of a broadcast, so that no history grows with
// the number of its recipients.
func NotifyPage(ctx workflow.Context, in PageInput) error {
	var batch activities.DeliveryBatch
	list := activities.ListInput{EventID: in.EventID, IDs: in.IDs, Waiting: in.Waiting}
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, listOptions), acts.ListDeliveries, list).Get(ctx, &batch); err != nil {
		return err
	}
	return deliverBatch(ctx, batchEvent{in.EventID, in.EventType, in.Aggregate}, batch)
}

// batchEvent is the event whose deliveries a batch is.
type batchEvent struct {
	id, eventType string
	aggregate     notification.Entity
}

// deliverBatch starts one child per delivery, a window of them at a time, and
// waits for all. How they end is in their rows. Its only error is cancellation.
func deliverBatch(ctx workflow.Context, event batchEvent, batch activities.DeliveryBatch) error {
	open := newWindow(ctx, openDeliveries)
	workflow.SetCurrentDetails(ctx, batchDetails(batch))
	for _, d := range batch.Deliveries {
		policy := batch.Policies[d.Channel]
		input := DeliverInput{DeliveryID: d.DeliveryID, Channel: d.Channel, SendAfter: d.SendAfter, Wait: d.Wait, Digest: d.Digest, Policy: policy}
		deliver := func(ctx workflow.Context) {
			ctx = workflow.WithChildOptions(ctx, deliveryOptions(event, d, policy))
			_ = workflow.ExecuteChildWorkflow(ctx, DeliverNotification, input).Get(ctx, nil)
		}
		if d.Waits() {
			open.start(ctx, deliver)
		} else if err := open.run(ctx, deliver); err != nil {
			break
		}
	}
	return open.wait(ctx)
}

// batchDetails tells operators what an event's workflow waits for.
func batchDetails(batch activities.DeliveryBatch) string {
	waiting := 0
	for _, d := range batch.Deliveries {
		if d.Waits() {
			waiting++
		}
	}
	return fmt.Sprintf("waiting for %d deliveries, of which %d are sent later; each is a child workflow", len(batch.Deliveries), waiting)
}

func deliveryOptions(event batchEvent, d notification.Delivery, policy activities.DeliveryPolicy) workflow.ChildWorkflowOptions {
	recipient := string(d.UserType) + "/" + d.UserID
	return workflow.ChildWorkflowOptions{
		WorkflowID:            d.DeliveryID,
		TaskQueue:             policy.TaskQueue,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:   true,
		Priority:              temporal.Priority{PriorityKey: priorityKey(d.Priority), FairnessKey: fairnessKey(event.aggregate)},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			EventTypeAttribute.ValueSet(event.eventType),
			AggregateAttribute.ValueSet(event.aggregate.String()),
			RecipientAttribute.ValueSet(recipient),
			ChannelAttribute.ValueSet(string(d.Channel)),
		),
		Memo:          map[string]any{"event_id": event.id},
		StaticSummary: fmt.Sprintf("%s to %s", d.Channel, recipient),
	}
}

// priorityKey maps a priority to Temporal's keys: 1 first, 5 last.
func priorityKey(p notification.Priority) int {
	switch p {
	case notification.High:
		return 1
	case notification.Low:
		return 5
	default:
		return 3
	}
}

// maxFairnessKey is Temporal's limit, in bytes.
const maxFairnessKey = 64

// fairnessKey keeps one entity's broadcast from delaying another's reservation.
// Entities whose names differ only beyond the limit share their turn.
func fairnessKey(aggregate notification.Entity) string {
	key := aggregate.String()
	if len(key) <= maxFairnessKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxFairnessKey], "")
}
