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
// before the claim that started it could be ended. Where the id is that of
// another workflow, the error is a [notification.IDTakenError].
func (s *Starter) StartEvent(ctx context.Context, event notification.PendingEvent) error {
	options := s.eventOptions(event)
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	return s.startEvent(ctx, options)
}

func (s *Starter) startEvent(ctx context.Context, options client.StartWorkflowOptions) error {
	_, err := s.Client.ExecuteWorkflow(ctx, options, NotifyEvent, NotifyInput{EventID: options.ID, Publish: s.PublishEvents, Commands: Commands})
	return s.orStarted(ctx, err, options, notifyEventType)
}

func (s *Starter) eventOptions(event notification.PendingEvent) client.StartWorkflowOptions {
	aggregate := notification.Entity{Type: event.AggregateType, ID: event.AggregateID}
	options := client.StartWorkflowOptions{
		ID:        event.ID,
		TaskQueue: EventsQueue(s.Prefix),
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
	return options
}

// orStarted turns the refusal of an id into no error where the workflow that has
// it is the one that was to be started: of this type and on this task queue.
// Nothing else is started on an installation's queues by that type and id.
func (s *Starter) orStarted(ctx context.Context, err error, options client.StartWorkflowOptions, workflowType string) error {
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &already) {
		return err
	}
	found, err := s.Execution(ctx, options.ID)
	switch {
	case err != nil:
		return err
	case found.State == activities.WorkflowUnknown:
		return errForgotten
	case found.Type != workflowType || found.TaskQueue != options.TaskQueue:
		return &notification.IDTakenError{WorkflowType: found.Type, TaskQueue: found.TaskQueue}
	default:
		return nil
	}
}

// errForgotten means that the workflow which had the id is gone by now. The start
// may be tried again, as when Temporal is out of reach.
var errForgotten = serviceerror.NewUnavailable("the workflow that had the id was forgotten meanwhile")

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
