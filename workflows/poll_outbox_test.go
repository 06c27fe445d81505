package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// A poller survives any failure, and continues in another run before its history grows long.
func TestPollOutboxContinuesAsNew(t *testing.T) {
	t.Parallel()

	for _, source := range []string{"", "orders"} {
		env := newEnv(t)
		in := activities.PollOutboxInput{Source: source}
		env.OnActivity(acts.PollOutbox, mock.Anything, in).Return(activities.PollOutboxResult{}, errors.New("a bug")).Times(8)
		env.OnActivity(acts.PollOutbox, mock.Anything, in).Return(activities.PollOutboxResult{Started: 3}, nil).Times(120)

		env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{Source: source})

		require.Equal(t, workflows.PollInput{Source: source}, nextRun[workflows.PollInput](t, env, pollOutbox))
	}
}

func TestPollOutboxCancelled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(2)
	// Temporal backs off
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, errors.New("a bug"))
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{})

	env.requireStopped(t)
}

// polling is a poller whose activities each take a minute.
func polling(t *testing.T) (env *environment, begun *int) {
	t.Helper()
	env, begun = newEnv(t), new(int)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{Started: 3},
		nil).After(time.Minute).Maybe()
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { *begun++ })
	return env, begun
}

// after runs a function at a time of the poller's clock.
func (e *environment) after(d time.Duration, f func()) { e.RegisterDelayedCallback(f, d) }

// details returns the current details of a running workflow, as in the Web UI.
func (e *environment) details(t *testing.T) string {
	t.Helper()
	answer, err := e.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, answer.Get(&metadata))
	return metadata.CurrentDetails
}

func TestPollOutboxPaused(t *testing.T) {
	t.Parallel()

	env, begun := polling(t)
	var since time.Time
	env.OnUpsertMemo(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		memo := args.Get(0).(map[string]any)
		require.Contains(t, memo, "paused_since")
		since, _ = memo["paused_since"].(time.Time)
	}).Times(2)
	var paused time.Time
	env.after(50*time.Second, func() { require.Equal(t, "polling", env.details(t)) })
	env.after(90*time.Second, func() {
		paused = env.Now()
		env.SignalWorkflow(workflows.PausePoller, nil)
	})
	env.after(time.Hour, func() {
		require.Equal(t, 2, *begun)
		require.WithinRange(t, since, paused, paused.Add(time.Minute))
		require.Equal(t, "paused by an operator since "+notification.InstantText(since), env.details(t))
		env.SignalWorkflow(workflows.PausePoller, nil) // changes nothing
	})
	env.after(2*time.Hour, func() { env.SignalWorkflow(workflows.ResumePoller, nil) })
	env.after(2*time.Hour+30*time.Second, func() {
		require.Equal(t, 3, *begun)
		require.Zero(t, since)
		require.Equal(t, "polling", env.details(t))
		env.SignalWorkflow(workflows.ResumePoller, nil) // changes nothing
	})
	env.after(3*time.Hour, env.CancelWorkflow)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{})

	env.requireStopped(t)
	require.Equal(t, 62, *begun)
}

// After a pause and an immediate resume, the poller continues with a new activity.
func TestPollOutboxPausedForAMoment(t *testing.T) {
	t.Parallel()

	env, begun := polling(t)
	env.after(30*time.Second, func() {
		env.SignalWorkflow(workflows.PausePoller, nil)
		env.SignalWorkflow(workflows.ResumePoller, nil)
	})
	env.after(40*time.Second, func() { require.Equal(t, 2, *begun) })
	env.after(50*time.Second, env.CancelWorkflow)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{})

	env.requireStopped(t)
}

func TestPollOutboxCancelledWhilePaused(t *testing.T) {
	t.Parallel()

	env, begun := polling(t)
	env.after(time.Hour, env.CancelWorkflow)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{PausedSince: env.Now()})

	env.requireStopped(t)
	require.Zero(t, *begun)
}

// A pause continues in the next run, for any end of a run.
func TestPollOutboxContinuesAsNewPaused(t *testing.T) {
	t.Parallel()

	earlier := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		in     workflows.PollInput
		paused time.Duration // time of the pause, from the start
		long   bool          // the history is long at that time
	}{
		{name: "during the last activity", paused: 119*time.Minute + 30*time.Second},
		{name: "after a long history", in: workflows.PollInput{PausedSince: earlier}, paused: time.Hour, long: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, _ := polling(t)
			env.after(tt.paused, func() {
				env.SetContinueAsNewSuggested(tt.long)
				env.SignalWorkflow(workflows.PausePoller, nil)
			})

			env.ExecuteWorkflow(workflows.PollOutbox, tt.in)

			in := nextRun[workflows.PollInput](t, env, pollOutbox)
			require.False(t, in.PausedSince.IsZero())
			if !tt.in.PausedSince.IsZero() {
				require.Equal(t, earlier, in.PausedSince)
			}
		})
	}
}

// If signals come together because no worker ran, the last signal decides.
func TestPollOutboxSeveralSignalsAtOnce(t *testing.T) {
	t.Parallel()

	const pause, resume = workflows.PausePoller, workflows.ResumePoller
	tests := []struct {
		name   string
		paused bool // paused before the signals
		said   []string
		timed  bool
		want   bool
	}{
		{name: "no signal", timed: true},
		{name: "pause", said: []string{pause}, timed: true, want: true},
		{name: "resume", paused: true, said: []string{resume}, timed: true},
		{name: "pause and resume", said: []string{pause, resume}, timed: true},
		{name: "resume and pause", said: []string{resume, pause}, timed: true, want: true},
		{name: "pause, resume and pause", said: []string{pause, resume, pause}, timed: true, want: true},
		{name: "a repeated pause", said: []string{pause, pause, resume}, timed: true},
		{name: "a repeated resume", paused: true, said: []string{resume, resume, pause}, timed: true, want: true},
		{name: "without times, pause, resume and pause", said: []string{pause, resume, pause}, want: true},
		{name: "without times, pause and resume", said: []string{pause, resume}},
		{name: "without times, resume and pause", paused: true, said: []string{resume, pause}, want: true},
		{name: "without times, resume, pause and resume", paused: true, said: []string{resume, pause, resume}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, begun := polling(t)
			var in workflows.PollInput
			if tt.paused {
				in.PausedSince = env.Now()
			}
			for i, signal := range tt.said {
				argument := any(map[string]string{"by": "hand"}) // an argument that an operator may add
				if tt.timed {
					argument = env.Now().Add(time.Duration(i) * time.Millisecond)
				}
				env.after(0, func() { env.SignalWorkflowSkippingWorkflowTask(signal, argument) })
			}
			env.after(30*time.Second, func() { require.Equal(t, tt.want, env.details(t) != "polling") })
			env.after(40*time.Second, env.CancelWorkflow)

			env.ExecuteWorkflow(workflows.PollOutbox, in)

			env.requireStopped(t)
			require.Equal(t, tt.want, *begun == 0)
		})
	}
}
