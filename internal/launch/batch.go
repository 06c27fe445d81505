package launch

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"herald/internal/notification"
	"herald/workflows"
)

// Batch is a running workflow that sends many deliveries of an event.
type Batch struct {
	ID    string `json:"workflow_id"`
	Queue string `json:"-"` // of the activity that sends
}

// BatchReader is the part of Temporal's client that finds batches.
type BatchReader interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, isLongPoll bool, filter enums.HistoryEventFilterType) client.HistoryEventIterator
}

// BatchOf finds the batch of an event's deliveries over a channel that has the one of a
// number in notification; the zero value: none runs. A lane has a few batches at a time.
func BatchOf(ctx context.Context, temporal BatchReader, eventID string, channel notification.Channel, number int64) (Batch, error) {
	lane, err := temporal.DescribeWorkflowExecution(ctx, workflows.LaneID(eventID, channel), "")
	if unknown := new(serviceerror.NotFound); errors.As(err, &unknown) {
		return Batch{}, nil
	}
	if err != nil {
		return Batch{}, fmt.Errorf("describe the workflow of the channel: %w", err)
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

// batchInput reads with what a batch was started.
func batchInput(ctx context.Context, temporal BatchReader, id, runID string) (in workflows.BatchInput, err error) {
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
