package explain

import (
	"context"
	"errors"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// WorkflowView is Temporal's view of a workflow.
type WorkflowView struct {
	Status        string                    `json:"status"` // a status of Temporal such as RUNNING, COMPLETED, FAILED, or one below
	RunID         string                    `json:"run_id,omitempty"`
	StartedAt     *time.Time                `json:"started_at,omitempty"`
	ClosedAt      *time.Time                `json:"closed_at,omitempty"`
	HeraldOutcome string                    `json:"herald_outcome,omitempty"` // the search attribute HeraldOutcome
	Outcome       notification.EventOutcome `json:"outcome,omitempty"`        // from the result of an event's workflow
	Problem       string                    `json:"problem,omitempty"`        // from the result of an event's workflow
	Failure       string                    `json:"failure,omitempty"`
	Note          string                    `json:"note,omitempty"` // why there is no more information
}

// Statuses of a [WorkflowView]. All other statuses are Temporal's.
const (
	Running     = "RUNNING"
	Completed   = "COMPLETED"
	Unknown     = "UNKNOWN"     // Temporal does not know the workflow
	Unreachable = "UNREACHABLE" // Temporal does not answer
)

// EventWorkflow reads the workflow of an event and its pending activities from Temporal. It never
// fails: the note tells what could not be read.
func (e Explainer) EventWorkflow(ctx context.Context, id string) (WorkflowView, []PendingActivity) {
	description, execution := e.eventExecution(ctx, id)
	return execution, pendingOf(description.GetPendingActivities())
}

func (e Explainer) eventExecution(ctx context.Context, id string) (*workflowservice.DescribeWorkflowExecutionResponse, WorkflowView) {
	var result workflows.NotifyResult
	description, execution := e.execution(ctx, id, &result)
	if execution.Failure == "" {
		execution.Outcome, execution.Problem = result.Outcome, result.Problem
	}
	return description, execution
}

// execution describes a workflow without asking a worker. If the workflow has completed, its result
// is stored in result; nil: the result is not needed.
func (e Explainer) execution(
	ctx context.Context, id string, result any,
) (*workflowservice.DescribeWorkflowExecutionResponse, WorkflowView) {
	if e.Temporal == nil {
		return nil, WorkflowView{Status: Unreachable, Note: e.Unreachable.Error()}
	}
	description, err := launch.Describe(ctx, e.Temporal, id, "")
	switch {
	case err != nil:
		return nil, WorkflowView{Status: Unreachable, Note: err.Error()}
	case description == nil:
		return nil, WorkflowView{Status: Unknown, Note: "Temporal does not know it: it was not started yet, or its retention has ended"}
	}
	info := description.GetWorkflowExecutionInfo()
	execution := WorkflowView{
		Status:        strings.ToUpper(info.GetStatus().String()),
		RunID:         info.GetExecution().GetRunId(),
		StartedAt:     launch.Time(info.GetStartTime()),
		ClosedAt:      launch.Time(info.GetCloseTime()),
		HeraldOutcome: keyword(info.GetSearchAttributes(), workflows.OutcomeAttribute.GetName()),
	}
	if execution.Status != Running {
		if err := e.Temporal.GetWorkflow(ctx, id, execution.RunID).Get(ctx, result); err != nil {
			execution.Failure = cause(err)
		}
	}
	return description, execution
}

// cause returns the message of a workflow's failure, without ids and without Temporal's wrapping.
func cause(err error) string {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failure.Message()
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// keyword reads a search attribute; empty: it is not set.
func keyword(attributes *commonpb.SearchAttributes, name string) string {
	var value string
	payload, set := attributes.GetIndexedFields()[name]
	if !set || converter.GetDefaultDataConverter().FromPayload(payload, &value) != nil {
		return ""
	}
	return value
}
