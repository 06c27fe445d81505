package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// ErrRunning means that a delivery's workflow already runs.
var ErrRunning = errors.New("its workflow is running")

// RetryInput is the input of [Launcher.RetryDelivery].
type RetryInput struct {
	DeliveryID string
	Channel    notification.Channel
	EventID    string
	EventType  string
	Aggregate  notification.Entity // zero: unknown, because the event's row was purged
	UserType   notification.UserType
	UserID     string
	Priority   notification.Priority
	Again      bool // send it even if it was sent
}

// RetryDelivery starts a new run of a delivery with the same workflow ID, after any end of the last
// run. If the last run has not ended, the error is [ErrRunning].
func (l *Launcher) RetryDelivery(ctx context.Context, in RetryInput) (client.WorkflowRun, error) {
	deliver := workflows.DeliverInput{DeliveryID: in.DeliveryID, Channel: in.Channel, Retry: true, Again: in.Again}
	run, err := l.Client.ExecuteWorkflow(ctx, l.retryOptions(in, "retried"), workflows.DeliverNotification, deliver)
	if errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		return nil, ErrRunning
	}
	return run, err
}

// StartDeliveryAgain starts a delivery's workflow as its event would, after any end of an earlier
// run. The delivery's row has its time and its status.
func (l *Launcher) StartDeliveryAgain(ctx context.Context, lost notification.StuckDelivery, policy activities.DeliveryPolicy) error {
	options := l.retryOptions(RetryInput{
		DeliveryID: lost.DeliveryID, Channel: lost.Channel, EventID: lost.EventID, EventType: lost.EventType, Aggregate: lost.Aggregate,
		UserType: lost.UserType, UserID: lost.UserID, Priority: lost.Priority,
	}, "started again by the sweep")
	in := workflows.DeliverInput{
		DeliveryID: lost.DeliveryID, Channel: lost.Channel, Policy: policy,
		Ordered: lost.Ordered, Again: lost.Again, AttemptsBefore: lost.AttemptsBefore,
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

// DeliveryWorkflow describes the last run of a delivery's workflow.
func (l *Launcher) DeliveryWorkflow(
	ctx context.Context, deliveryID string, channel notification.Channel,
) (activities.Execution, error) {
	return l.execution(ctx, deliveryID, workflows.DeliverNotificationType, workflows.ChannelQueue(l.Prefix, channel))
}

// JoinDigest signals a delivery to the digest of its key, and starts the digest if it does not run.
// It returns the digest's workflow ID.
func (l *Launcher) JoinDigest(ctx context.Context, join activities.Join) (string, error) {
	key := join.Place.Key
	id := workflows.DigestID(l.Prefix, join.Place)
	recipient := string(key.UserType) + "/" + key.UserID
	options := client.StartWorkflowOptions{
		TaskQueue: join.Policy.TaskQueue,
		Priority:  workflows.Priority(join.Place.Priority, notification.Entity{}),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.EventTypeAttribute.ValueSet(key.EventType),
			workflows.RecipientAttribute.ValueSet(recipient),
			workflows.ChannelAttribute.ValueSet(string(key.Channel)),
		),
		StaticSummary: fmt.Sprintf("%s digest to %s: %s", key.Channel, recipient, key.EventType),
	}
	in := workflows.DigestInput{
		Key: key, Window: join.Place.Window, Until: join.Place.Due, Timed: join.Place.Timed, Hastened: join.Place.Hastened, Policy: join.Policy,
	}
	if _, err := l.Client.SignalWithStartWorkflow(ctx, id, workflows.DigestJoined, join.DeliveryID, options, workflows.Digest,
		in); err != nil {
		return "", fmt.Errorf("join digest: %w", err)
	}
	return id, nil
}

// Batch is a running workflow that sends many deliveries of an event.
type Batch struct {
	ID    string
	Queue string // the queue of the sending activity
}

// BatchOf finds the running batch that sends a delivery; the zero value: none. number is the
// delivery's notification.id. A lane has only a few batches at a time.
func BatchOf(ctx context.Context, temporal client.Client, eventID string, channel notification.Channel, number int64) (Batch, error) {
	lane, err := Describe(ctx, temporal, workflows.LaneID(eventID, channel), "")
	if err != nil {
		return Batch{}, err
	}
	for _, child := range lane.GetPendingChildren() {
		if child.GetWorkflowTypeName() != workflows.DeliverBatchType {
			continue
		}
		in, err := batchInput(ctx, temporal, child.GetWorkflowId(), child.GetRunId())
		if err != nil {
			return Batch{}, err
		}
		if in.IDs.First <= number && number <= in.IDs.Last {
			return Batch{child.GetWorkflowId(), workflows.BatchesQueue(in.Policy.TaskQueue)}, nil
		}
	}
	return Batch{}, nil
}

// Batch describes the n-th batch of an event's deliveries over a channel.
func (l *Launcher) Batch(
	ctx context.Context, eventID string, channel notification.Channel, n int,
) (batch activities.BatchExecution, err error) {
	id := workflows.BatchID(eventID, channel, n)
	found, err := l.execution(ctx, id, workflows.DeliverBatchType, workflows.EventsQueue(l.Prefix))
	batch.State = found.State
	if err != nil || found.State != activities.WorkflowCompleted {
		return batch, err
	}
	in, err := batchInput(ctx, l.Client, id, found.RunID)
	batch.IDs = in.IDs
	return batch, err
}

// batchInput reads the input of a batch from its history.
func batchInput(ctx context.Context, temporal client.Client, id, runID string) (in workflows.BatchInput, err error) {
	history := temporal.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !history.HasNext() {
		return in, fmt.Errorf("the history of %s is empty", id)
	}
	started, err := history.Next()
	if err != nil {
		return in, fmt.Errorf("read the history of %s: %w", id, err)
	}
	payloads := started.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &in); err != nil {
		return in, fmt.Errorf("read the input of %s: %w", id, err)
	}
	return in, nil
}

// CancelDelivery asks the workflow of a delivery to end, if it runs and belongs to this
// installation.
func (l *Launcher) CancelDelivery(ctx context.Context, deliveryID, reason string) error {
	found, err := l.Execution(ctx, deliveryID)
	ours := func(c notification.Channel) bool { return found.TaskQueue == workflows.ChannelQueue(l.Prefix, c) }
	if err != nil || found.Type != workflows.DeliverNotificationType || found.State != activities.WorkflowRunning ||
		!slices.ContainsFunc(notification.Channels(), ours) {
		return err
	}
	return l.Cancel(ctx, deliveryID, reason)
}

// SettleEscalation tells the escalation of a delivery to check the delivery. It returns no error if
// no escalation runs.
func (l *Launcher) SettleEscalation(ctx context.Context, deliveryID string) error {
	id := workflows.EscalationID(deliveryID)
	return unlessGone(l.Client.SignalWorkflow(ctx, id, "", workflows.Settled, nil), "tell "+id)
}
