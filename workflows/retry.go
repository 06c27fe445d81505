package workflows

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// ErrUnderWay means that a delivery's workflow runs, so that it cannot be started.
var ErrUnderWay = errors.New("its workflow is running")

// RetryInput is the input of [Starter.RetryDelivery].
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
// [ErrUnderWay].
func (s *Starter) RetryDelivery(ctx context.Context, in RetryInput) (client.WorkflowRun, error) {
	deliver := DeliverInput{DeliveryID: in.DeliveryID, Channel: in.Channel, Retry: true, Again: in.Again}
	run, err := s.Client.ExecuteWorkflow(ctx, s.retryOptions(in), DeliverNotification, deliver)
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &already) {
		return nil, ErrUnderWay
	}
	return run, err
}

func (s *Starter) retryOptions(in RetryInput) client.StartWorkflowOptions {
	recipient := string(in.UserType) + "/" + in.UserID
	attributes := []temporal.SearchAttributeUpdate{
		EventTypeAttribute.ValueSet(in.EventType),
		RecipientAttribute.ValueSet(recipient),
		ChannelAttribute.ValueSet(string(in.Channel)),
	}
	priority := temporal.Priority{PriorityKey: priorityKey(in.Priority)}
	if in.Aggregate != (notification.Entity{}) {
		attributes = append(attributes, AggregateAttribute.ValueSet(in.Aggregate.String()))
		priority.FairnessKey = fairnessKey(in.Aggregate)
	}
	return client.StartWorkflowOptions{
		ID:                                       in.DeliveryID,
		TaskQueue:                                ChannelQueue(s.Prefix, in.Channel),
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Priority:                                 priority,
		TypedSearchAttributes:                    temporal.NewSearchAttributes(attributes...),
		StaticSummary:                            fmt.Sprintf("%s to %s, retried", in.Channel, recipient),
		Memo:                                     map[string]any{"event_id": in.EventID},
	}
}
