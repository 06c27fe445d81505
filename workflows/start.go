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

// Starter starts Herald's workflows from outside.
type Starter struct {
	Client        client.Client
	Prefix        string // TASK_QUEUE_PREFIX
	PublishEvents bool
}

// StartEvent starts the workflow of an event. An event that was started before,
// and is running or still remembered by Temporal, counts as started.
func (s *Starter) StartEvent(ctx context.Context, event notification.PendingEvent) error {
	aggregate := notification.Entity{Type: event.AggregateType, ID: event.AggregateID}
	options := client.StartWorkflowOptions{
		ID:                    event.ID,
		TaskQueue:             EventsQueue(s.Prefix),
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
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

// StartPoller starts the n-th outbox poller, unless it runs already.
func (s *Starter) StartPoller(ctx context.Context, n int) error {
	options := client.StartWorkflowOptions{
		ID:                       PollerID(s.Prefix, n),
		TaskQueue:                EventsQueue(s.Prefix),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "starts the workflows of pending events",
	}
	if _, err := s.Client.ExecuteWorkflow(ctx, options, PollOutbox); err != nil {
		return fmt.Errorf("start poller %d: %w", n, err)
	}
	return nil
}
