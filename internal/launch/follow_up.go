package launch

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// StartFollowUp starts the [workflows.FollowUp] of the installation, unless it runs already.
func (l *Launcher) StartFollowUp(ctx context.Context) error {
	options := client.StartWorkflowOptions{
		ID:                                       workflows.FollowUpID(l.Prefix),
		TaskQueue:                                workflows.EventsQueue(l.Prefix),
		StaticSummary:                            "does what follows receipts, acknowledgements, readers and replacements",
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	_, err := l.Client.ExecuteWorkflow(ctx, options, workflows.FollowUp)
	if err = l.unlessStarted(ctx, err, options, workflows.FollowUpType); err != nil {
		return fmt.Errorf("start %s: %w", options.ID, err)
	}
	return nil
}

// CancelDelivery asks the workflow of a delivery to end, if it runs and belongs to this
// installation.
func (l *Launcher) CancelDelivery(ctx context.Context, deliveryID string) error {
	found, err := l.Execution(ctx, deliveryID)
	ours := func(c notification.Channel) bool { return found.TaskQueue == workflows.ChannelQueue(l.Prefix, c) }
	if err != nil || found.Type != workflows.DeliverNotificationType || found.State != activities.WorkflowRunning || !slices.ContainsFunc(notification.Channels(), ours) {
		return err
	}
	return l.Cancel(ctx, deliveryID)
}

// SettleEscalation signals the escalation of a delivery to check the delivery. If no escalation
// runs, that is no error.
func (l *Launcher) SettleEscalation(ctx context.Context, deliveryID string) error {
	id := workflows.EscalationID(deliveryID)
	return unlessGone(l.Client.SignalWorkflow(ctx, id, "", workflows.Settled, nil), "tell "+id)
}
