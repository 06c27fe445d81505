// Package launch starts Herald's workflows from outside of Temporal: the workflows of events,
// deliveries, digests, pollers and sweeps. It also reads their state.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/workflows"
)

// Launcher starts the workflows of one installation.
type Launcher struct {
	Client        client.Client
	Namespace     string // the namespace of Client; empty: Temporal's default
	Prefix        string // TASK_QUEUE_PREFIX
	PublishEvents bool   // PUBLISH_EVENTS

	Sources map[string]relay.Source // by name; without an entry, Herald's outbox goes to no topic
}

// IsNotFound reports whether Temporal did not find the workflow, schedule or other object.
func IsNotFound(err error) bool {
	return errors.As(err, new(*serviceerror.NotFound))
}

// unlessGone wraps an error with the attempted step. It drops the error if Temporal did not find
// the object, because the object has ended or does not exist.
func unlessGone(err error, tried string) error {
	if err == nil || IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// Describe describes a run of a workflow; without runID, the last run. nil: Temporal does not know
// the workflow.
func Describe(
	ctx context.Context, temporal client.Client, workflowID, runID string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	described, err := temporal.DescribeWorkflow(ctx, workflowID, runID)
	if IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", workflowID, err)
	}
	return described.RawResponse, nil
}

// errForgotten is an error that callers retry, like an outage of Temporal.
var errForgotten = serviceerror.NewUnavailable("another workflow had the id a moment ago")

// unlessStarted drops the error of a start if the workflow to start already has the id. It compares
// the type and the task queue, because only the installation uses its queues.
func (l *Launcher) unlessStarted(ctx context.Context, err error, options client.StartWorkflowOptions, workflowType string) error {
	if !errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
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

// RegisterSearchAttributes adds Herald's search attributes to Temporal and waits until they can be
// used: Temporal refuses to start a workflow with an unknown search attribute. A second call
// changes nothing. If the server does not allow the addition, as on Temporal Cloud, an operator
// must have added the attributes before.
func RegisterSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	missing, err := MissingSearchAttributes(ctx, temporal, namespace)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: map[string]enums.IndexedValueType{}}
	for _, name := range workflows.SearchAttributes() {
		add.SearchAttributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	// The server does not change existing attributes. After an error, another worker may be adding
	// them at the same time, so the loop checks whether they exist.
	_, addErr := temporal.OperatorService().AddSearchAttributes(ctx, add)
	for err != nil || len(missing) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("add the keyword search attributes %s to namespace %s: %w", strings.Join(missing, ", "), namespace,
				cmp.Or(addErr, err, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
			missing, err = MissingSearchAttributes(ctx, temporal, namespace)
		}
	}
	return nil
}

// MissingSearchAttributes returns Herald's search attributes that a query cannot use yet.
// Temporal's list is no proof: it shows an attribute before the servers can use it.
func MissingSearchAttributes(ctx context.Context, temporal client.Client, namespace string) ([]string, error) {
	var missing []string
	for _, name := range workflows.SearchAttributes() {
		_, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: name + `="?"`})
		switch {
		case errors.As(err, new(*serviceerror.InvalidArgument)):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("check search attribute %s: %w", name, err)
		}
	}
	return missing, nil
}
