// Package launch starts Herald's workflows from outside of Temporal: those of
// events, deliveries, digests, pollers and sweeps. It also tells what became of
// them.
package launch

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/outboxes"
)

// Launcher starts the workflows of one installation.
type Launcher struct {
	Client        client.Client
	Namespace     string // of Client; empty: Temporal's default
	Prefix        string // TASK_QUEUE_PREFIX
	PublishEvents bool   // PUBLISH_EVENTS
	Generation    int    // of the commands that events issue; 0: [workflows.Commands]

	Sources map[string]outboxes.Source // by name; without one for Herald's own, that goes to no topic
}

// errForgotten is a failure that the caller tries again, as it does when Temporal
// is out of reach.
var errForgotten = serviceerror.NewUnavailable("another workflow had the id a moment ago")

// unlessStarted turns the refusal of an id into no error where the workflow that
// has the id is the one that was to be started. Its type and its task queue tell:
// nothing else uses an installation's queues.
func (l *Launcher) unlessStarted(ctx context.Context, err error, options client.StartWorkflowOptions, workflowType string) error {
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &already) {
		return err
	}
	found, err := l.Execution(ctx, options.ID)
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
