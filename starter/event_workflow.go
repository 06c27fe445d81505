package main

import (
	"context"
	"errors"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"herald/internal/example"
	"herald/workflows"
)

// workflowState is what Temporal knows of an event.
type workflowState struct {
	Status        string     `json:"status"`
	RunID         string     `json:"run_id,omitempty"`
	StartedAt     *time.Time `json:"started_at,omitempty"`
	ClosedAt      *time.Time `json:"closed_at,omitempty"`
	HeraldOutcome string     `json:"herald_outcome,omitempty"` // the search attribute
	Outcome       string     `json:"outcome,omitempty"`        // of its result
	Problem       string     `json:"problem,omitempty"`        // of its result
	Failure       string     `json:"failure,omitempty"`
	Note          string     `json:"note,omitempty"`
}

// States of a workflow that Temporal cannot tell us of.
const (
	unknownStatus     = "UNKNOWN"
	unreachableStatus = "UNREACHABLE"
)

// known says that Temporal could tell of the workflow.
func (s workflowState) known() bool {
	return s.Status != unknownStatus && s.Status != unreachableStatus
}

// readWorkflow looks at the workflow of an event. What it cannot find out it
// says in the note.
func readWorkflow(ctx context.Context, temporal example.Temporal, id string) workflowState {
	_, state := lookAt(ctx, temporal, id)
	if !state.known() || state.Status == runningStatus {
		return state
	}
	var result workflows.NotifyResult
	if err := temporal.GetWorkflow(ctx, id, state.RunID).Get(ctx, &result); err != nil {
		state.Failure = cause(err)
		return state
	}
	state.Outcome, state.Problem = string(result.Outcome), result.Problem
	return state
}

// lookAt reads what Temporal tells of a workflow without asking a worker.
func lookAt(ctx context.Context, temporal example.Temporal, id string) (*workflowservice.DescribeWorkflowExecutionResponse, workflowState) {
	description, err := temporal.DescribeWorkflowExecution(ctx, id, "")
	switch {
	case isNotFound(err):
		return nil, workflowState{Status: unknownStatus, Note: "Temporal does not know it: it was not started yet, or its retention has ended"}
	case err != nil:
		return nil, workflowState{Status: unreachableStatus, Note: err.Error()}
	}
	info := description.GetWorkflowExecutionInfo()
	return description, workflowState{
		Status:        statusName(info.GetStatus()),
		RunID:         info.GetExecution().GetRunId(),
		StartedAt:     moment(info.GetStartTime()),
		ClosedAt:      moment(info.GetCloseTime()),
		HeraldOutcome: keyword(info.GetSearchAttributes(), workflows.OutcomeAttribute.GetName()),
	}
}

// cause is the failure of a workflow without the workflow's ids around it, and
// without Temporal's words for how it was passed on.
func cause(err error) string {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) {
		return failure.Message()
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// keyword reads a search attribute; "" where it is not set.
func keyword(attributes *commonpb.SearchAttributes, name string) string {
	var value string
	payload, set := attributes.GetIndexedFields()[name]
	if !set || converter.GetDefaultDataConverter().FromPayload(payload, &value) != nil {
		return ""
	}
	return value
}
