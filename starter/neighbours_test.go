package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"herald/internal/console"
)

// namespace is a Temporal whose pollers run on these task queues.
type namespace struct {
	queues []string
	err    error
	asked  string
}

func (n *namespace) ListWorkflow(_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	n.asked = request.GetQuery()
	found := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, queue := range n.queues {
		found.Executions = append(found.Executions, &workflowpb.WorkflowExecutionInfo{TaskQueue: queue})
	}
	return found, n.err
}

func TestNeighbours(t *testing.T) {
	t.Parallel()

	n := &namespace{queues: []string{"south-events", "north-events", "south-events"}}
	queues, err := neighbours(t.Context(), n, "herald")
	require.NoError(t, err)
	require.Equal(t, []string{"north-events", "south-events"}, queues)
	require.Contains(t, n.asked, "TaskQueue != 'herald-events'")

	var said bytes.Buffer
	a := &app{Output: console.Output{Err: &said}}
	a.warnOfNeighbours(nil)
	require.Empty(t, said.String())
	a.warnOfNeighbours(queues)
	require.Contains(t, said.String(), "north-events, south-events: no two of them may have an event with the same id, and each needs a RabbitMQ vhost")

	_, err = neighbours(t.Context(), &namespace{err: errors.New("no visibility")}, "herald")
	require.ErrorContains(t, err, "no visibility")
}
