package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"

	"herald/tools/rig"
)

// executions are workflows as Temporal lists them.
type executions []*workflow.WorkflowExecutionInfo

// awaitClosed waits until at least n workflows have closed and none is open. Their ids begin with a
// prefix: the id of one event, or what the ids of a round's events begin with.
func (in *installation) awaitClosed(ctx context.Context, prefix string, n int) (closed executions, err error) {
	err = in.until(ctx, roundTime, "not all workflows close", func() (bool, error) {
		query := fmt.Sprintf("WorkflowId = '%[1]s' OR WorkflowId STARTS_WITH '%[1]s-'", prefix)
		closed, err = rig.Workflows(ctx, in.Temporal, query)
		open := slices.ContainsFunc(closed, func(w *workflow.WorkflowExecutionInfo) bool {
			return w.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		})
		return len(closed) >= n && !open, err
	})
	return closed, err
}

// with returns the workflows with one of the ids.
func (e executions) with(ids []string) executions {
	return slices.DeleteFunc(slices.Clone(e), func(w *workflow.WorkflowExecutionInfo) bool {
		return !slices.Contains(ids, w.GetExecution().GetWorkflowId())
	})
}

// end returns the time when the last workflow closed.
func (e executions) end() (last time.Time) {
	for _, w := range e {
		if at := w.GetCloseTime().AsTime(); at.After(last) {
			last = at
		}
	}
	return last
}

// add adds both counts as figures, divided by n. per names the thing that the workflows handle.
func (e executions) add(f *figures, per string, n int) {
	var transitions, events float64
	for _, w := range e {
		transitions += float64(w.GetStateTransitionCount())
		events += float64(w.GetHistoryLength())
	}
	f.add("state transitions per "+per, "", transitions/float64(n))
	f.add("history events per "+per, "", events/float64(n))
}
