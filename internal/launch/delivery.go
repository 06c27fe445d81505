package launch

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// ErrRunning means that a delivery's workflow runs, so that it cannot be started.
var ErrRunning = errors.New("its workflow is running")

// RetryInput is the input of [Launcher.RetryDelivery].
type RetryInput struct {
	DeliveryID string
	Channel    notification.Channel
	EventID    string
	EventType  string
	Aggregate  notification.Entity // zero: unknown, since the event's row was purged
	UserType   notification.UserType
	UserID     string
	Priority   notification.Priority
	Again      bool // also where it was sent
}

// RetryDelivery starts a fresh run of a delivery under its own workflow ID,
// however the last one ended. Where that one has not ended yet, the error is
// [ErrRunning].
func (l *Launcher) RetryDelivery(ctx context.Context, in RetryInput) (client.WorkflowRun, error) {
	deliver := workflows.DeliverInput{DeliveryID: in.DeliveryID, Channel: in.Channel, Retry: true, Again: in.Again, OwnTime: true}
	run, err := l.Client.ExecuteWorkflow(ctx, l.retryOptions(in, "retried"), workflows.DeliverNotification, deliver)
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &already) {
		return nil, ErrRunning
	}
	return run, err
}

// StartDeliveryAgain starts a delivery's workflow as its event would, however an earlier
// one ended. An immediate delivery has waited by now, so its time is that of its planning,
// and its quiet hours are judged again.
func (l *Launcher) StartDeliveryAgain(ctx context.Context, lost notification.StuckDelivery, policy activities.DeliveryPolicy) error {
	options := l.retryOptions(RetryInput{
		DeliveryID: lost.DeliveryID, Channel: lost.Channel, EventID: lost.EventID, EventType: lost.EventType, Aggregate: lost.Aggregate,
		UserType: lost.UserType, UserID: lost.UserID, Priority: lost.Priority,
	}, "started again by the sweep")
	in := workflows.DeliverInput{DeliveryID: lost.DeliveryID, Channel: lost.Channel, SendAfter: lost.SendAfter, Wait: lost.Wait, Digest: lost.Digest, Policy: policy}
	if !in.Digest && in.SendAfter.IsZero() {
		in.SendAfter = lost.CreatedAt.UTC()
	}
	_, err := l.Client.ExecuteWorkflow(ctx, options, workflows.DeliverNotification, in)
	return l.unlessStarted(ctx, err, options, workflows.DeliverNotificationType)
}

func (l *Launcher) retryOptions(in RetryInput, summary string) client.StartWorkflowOptions {
	recipient := string(in.UserType) + "/" + in.UserID
	attributes := []temporal.SearchAttributeUpdate{
		workflows.EventTypeAttribute.ValueSet(in.EventType),
		workflows.RecipientAttribute.ValueSet(recipient),
		workflows.ChannelAttribute.ValueSet(string(in.Channel)),
	}
	if in.Aggregate != (notification.Entity{}) {
		attributes = append(attributes, workflows.AggregateAttribute.ValueSet(in.Aggregate.String()))
	}
	return client.StartWorkflowOptions{
		ID:                                       in.DeliveryID,
		TaskQueue:                                workflows.ChannelQueue(l.Prefix, in.Channel),
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Priority:                                 workflows.Priority(in.Priority, in.Aggregate),
		TypedSearchAttributes:                    temporal.NewSearchAttributes(attributes...),
		StaticSummary:                            fmt.Sprintf("%s to %s, %s", in.Channel, recipient, summary),
		Memo:                                     map[string]any{"event_id": in.EventID},
	}
}

// DeliveryWorkflow tells what became of a delivery's workflow.
func (l *Launcher) DeliveryWorkflow(ctx context.Context, deliveryID string, channel notification.Channel) (activities.WorkflowState, error) {
	return l.state(ctx, deliveryID, workflows.DeliverNotificationType, workflows.ChannelQueue(l.Prefix, channel))
}
