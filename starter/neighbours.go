package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

	"herald/workflows"
)

// maxNeighbours is how many pollers of other installations are looked at.
const maxNeighbours = 20

// lister is Temporal's client, as much of it as finding workflows takes.
type lister interface {
	ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
}

// neighbours are the task queues of other installations whose pollers run in the
// same namespace, up to 20 of them. One with our own prefix cannot be told from
// us, and one that shares nothing but the broker is found by [app.vhost].
func neighbours(ctx context.Context, temporal lister, prefix string) ([]string, error) {
	found, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: maxNeighbours,
		Query:    fmt.Sprintf("WorkflowType = 'PollOutbox' AND ExecutionStatus = 'Running' AND TaskQueue != '%s'", workflows.EventsQueue(prefix)),
	})
	if err != nil {
		return nil, fmt.Errorf("look for other installations: %w", err)
	}
	queues := []string{}
	for _, execution := range found.GetExecutions() {
		if queue := execution.GetTaskQueue(); !slices.Contains(queues, queue) {
			queues = append(queues, queue)
		}
	}
	slices.Sort(queues)
	return queues, nil
}

// warnOfNeighbours says what they must not have in common with us.
func (a *app) warnOfNeighbours(queues []string) {
	if len(queues) > 0 {
		a.Note("warning: other installations run in this namespace, with the task queues %s: no two of them may have an event with the same id, and each needs a RabbitMQ vhost of its own",
			strings.Join(queues, ", "))
	}
}
