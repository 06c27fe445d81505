package activities_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
)

// executions is an Executions that knows one workflow.
type executions struct {
	found      activities.Execution
	terminated bool // every run was terminated
	rolledBack bool // every run was cancelled by a rollback
	hasChild   bool // it runs, and waits for every child
	err        error
}

func (e executions) Execution(context.Context, string) (activities.Execution, error) {
	return e.found, e.err
}

func (e executions) HasChild(context.Context, string, string) (bool, error) {
	return e.hasChild, e.err
}

func (e executions) Terminated(context.Context, string, string) (bool, error) {
	return e.terminated, e.err
}

func (e executions) RolledBack(context.Context, string, string) (bool, error) {
	return e.rolledBack, e.err
}

func TestAwaitHolder(t *testing.T) {
	t.Parallel()

	page := activities.Execution{Type: "NotifyPage", TaskQueue: "herald-events", State: activities.WorkflowFailed}
	running, completed, terminated, otherType, elsewhere := page, page, page, page, page
	running.State = activities.WorkflowRunning
	completed.State = activities.WorkflowCompleted
	terminated.State = activities.WorkflowTerminated
	otherType.Type, otherType.State = "NotifyEvent", activities.WorkflowRunning
	elsewhere.TaskQueue = "other-events"
	tests := []struct {
		name    string
		found   activities.Execution
		err     error
		want    activities.HolderResult
		failure string
	}{
		{name: "no workflow", found: activities.Execution{}, want: activities.HolderResult{}},
		{name: "it runs", found: running, want: activities.HolderResult{}, failure: activities.StillRunning},
		{name: "out of reach", err: errors.New("unavailable")},
		{name: "failed", found: page, want: activities.HolderResult{State: activities.WorkflowFailed}},
		{name: "terminated", found: terminated, want: activities.HolderResult{State: activities.WorkflowTerminated}},
		{name: "completed", found: completed, want: activities.HolderResult{State: activities.WorkflowCompleted}},
		{name: "another type", found: otherType, want: activities.HolderResult{Other: "the workflow NotifyEvent of task queue herald-events"}},
		{name: "another installation", found: elsewhere,
			want: activities.HolderResult{Other: "the workflow NotifyPage of task queue other-events"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			a := &activities.Activities{Executions: executions{found: tt.found, err: tt.err}}
			got, err := run[activities.HolderResult](a, a.AwaitHolder,
				activities.HolderInput{WorkflowID: "evt-1-page-EMAIL-1", Type: "NotifyPage", TaskQueue: "herald-events"})
			if tt.failure != "" || tt.err != nil {
				requireFailure(t, err, tt.failure, false, 0)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}
