package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// Every status of a row beside every state of a workflow: a dry run says that
// something would change exactly where the run changes it.
func TestDryRunSaysWhatTheRunDoes(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	verbs := map[string]planner{
		"cancel": d.planCancelDelivery, "retry": d.retrying(false), "again": d.retrying(true), "signal": d.signalling(instruction{name: "send-now"}),
	}
	for _, status := range statuses() {
		for _, workflow := range []enums.WorkflowExecutionStatus{noWorkflow, isRunning, wasCompleted, wasCanceled, wasTerminated} {
			if workflow == isRunning && status != notification.Pending {
				continue // waited for; see below
			}
			for name, verb := range verbs {
				changed := d.answers(status, workflow)
				would, err := d.would(verb, "d1")
				require.NoError(t, err)
				require.False(t, *changed, "a dry run changes nothing")

				got, err := d.does(verb, "d1")
				require.NoError(t, err)
				require.Equal(t, would.Done, *changed || got.Done, "%s %s %s", name, status, workflow)
				if !would.Done {
					require.Equal(t, would, got, "%s %s %s", name, status, workflow)
				}
			}
		}
	}
}

// A delivery that has failed by its row may still run: it was reopened, or is
// stuck. Cancelling it ends its workflow; it cannot be retried.
func TestDryRunAsksTheWorkflow(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	changed := d.answers(notification.Failed, isRunning)
	would, err := d.would(d.planCancelDelivery, "d1")
	require.NoError(t, err)
	require.Equal(t, outcome{ID: "d1", Done: true, Result: "would be cancelled"}, would)
	_, err = d.does(d.planCancelDelivery, "d1")
	require.NoError(t, err)
	require.True(t, *changed)

	d.answers(notification.Failed, isRunning)
	would, err = d.would(d.retrying(false), "d1")
	require.NoError(t, err)
	require.Equal(t, "is under way", would.Result)
}

// answers sets a case up in which everything that is asked of Temporal is done,
// and tells whether something was.
func (d *desk) answers(status notification.Status, workflow enums.WorkflowExecutionStatus) *bool {
	d.t.Helper()
	d.reset(status)
	d.patience = newPatience(time.Minute)
	d.workflow("d1", workflow)
	changed := false
	change := func(mock.Arguments) { changed = true }
	cancel := ends(func() { d.setStatus(notification.Cancelled) }, &temporal.WorkflowExecutionError{})
	send := ends(func() { d.setStatus(notification.Sent) }, nil)
	d.temporal.On("CancelWorkflow", mock.Anything, "d1", "").Run(change).Return(nil).Maybe()
	d.temporal.On("GetWorkflow", mock.Anything, "d1", "").Return(cancel).Maybe()
	d.temporal.On("SignalWorkflow", mock.Anything, "d1", "", "send-now", nil).Run(change).Return(nil).Maybe()
	d.temporal.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Run(change).Return(send, nil).Maybe()
	return &changed
}
