package workflows

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
)

// Starter starts Herald's workflows from outside.
type Starter struct {
	Client        client.Client
	Prefix        string // TASK_QUEUE_PREFIX
	PublishEvents bool
}

// StartEvent starts the workflow of an event. One that runs, or that Temporal
// remembers to have completed, counts as started. One that failed is started
// again: it comes here only when an operator put it back, or when it failed
// before the claim that started it could be ended.
func (s *Starter) StartEvent(ctx context.Context, event notification.PendingEvent) error {
	aggregate := notification.Entity{Type: event.AggregateType, ID: event.AggregateID}
	options := client.StartWorkflowOptions{
		ID:                    event.ID,
		TaskQueue:             EventsQueue(s.Prefix),
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			EventTypeAttribute.ValueSet(event.Type),
			AggregateAttribute.ValueSet(aggregate.String()),
		),
		StaticSummary:                            event.Type + " of " + aggregate.String(),
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if event.CorrelationID != "" {
		options.Memo = map[string]any{"correlation_id": event.CorrelationID}
	}
	_, err := s.Client.ExecuteWorkflow(ctx, options, NotifyEvent, NotifyInput{EventID: event.ID, Publish: s.PublishEvents})
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &already) {
		return nil
	}
	return err
}

// JoinDigest tells the digest of a delivery's kind that the delivery is there, and
// starts it if it does not run. It returns the digest's workflow ID.
func (s *Starter) JoinDigest(ctx context.Context, join activities.Join) (string, error) {
	key := join.Place.Key
	recipient := string(key.UserType) + "/" + key.UserID
	id := s.Prefix + "-digest-" + key.String()
	options := client.StartWorkflowOptions{
		TaskQueue: join.Policy.TaskQueue,
		Priority:  temporal.Priority{PriorityKey: priorityKey(join.Place.Priority)},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			EventTypeAttribute.ValueSet(key.EventType),
			RecipientAttribute.ValueSet(recipient),
			ChannelAttribute.ValueSet(string(key.Channel)),
		),
		StaticSummary: fmt.Sprintf("%s digest to %s: %s", key.Channel, recipient, key.EventType),
	}
	input := DigestInput{Key: key, Window: join.Place.Window, Policy: join.Policy}
	if _, err := s.Client.SignalWithStartWorkflow(ctx, id, digestJoined, join.DeliveryID, options, Digest, input); err != nil {
		return "", fmt.Errorf("join digest: %w", err)
	}
	return id, nil
}

// StartPoller starts the n-th outbox poller, unless it runs already.
func (s *Starter) StartPoller(ctx context.Context, n int) error {
	options := client.StartWorkflowOptions{
		ID:                       PollerID(s.Prefix, n),
		TaskQueue:                EventsQueue(s.Prefix),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "starts the workflows of pending events",
	}
	if _, err := s.Client.ExecuteWorkflow(ctx, options, PollOutbox, PollInput{}); err != nil {
		return fmt.Errorf("start poller %d: %w", n, err)
	}
	return nil
}
