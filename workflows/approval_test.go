package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// An event that needs approval waits for the first answer that is stored. After six days it alerts
// operators; after seven days it is rejected.
func TestNotifyEventWaitsForApproval(t *testing.T) {
	t.Parallel()

	const day = 24 * time.Hour
	yes, no := workflows.ApproveSignal{Approved: true, By: "ada"}, workflows.ApproveSignal{By: "bob", Reason: "wrong price"}
	tests := []struct {
		name    string
		signals []any
		stored  []notification.ApprovalAnswer // the result of each answer; empty: the answer does not count
		warned  bool
		ends    notification.EventOutcome // empty: the event is approved
		after   time.Duration             // the time of the signals
	}{
		{name: "approved", signals: []any{yes}, stored: []notification.ApprovalAnswer{notification.Approved}, after: time.Hour},
		{name: "rejected", signals: []any{no}, stored: []notification.ApprovalAnswer{notification.Rejected}, ends: notification.EventRejected,
			after: time.Hour},
		{name: "by the emitter, then by another person", signals: []any{yes, yes},
			stored: []notification.ApprovalAnswer{"", notification.Approved}, after: time.Hour},
		{name: "two answers", signals: []any{no, yes}, stored: []notification.ApprovalAnswer{notification.Rejected},
			ends: notification.EventRejected, after: time.Hour},
		{name: "signals without an answer", signals: []any{"yes", workflows.ApproveSignal{Approved: true}, yes},
			stored: []notification.ApprovalAnswer{notification.Approved}, after: time.Hour},
		{name: "after the alert", signals: []any{yes}, stored: []notification.ApprovalAnswer{notification.Approved}, warned: true,
			after: 6*day + time.Hour},
		{name: "no answer", stored: []notification.ApprovalAnswer{notification.Rejected}, warned: true, ends: notification.EventRejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			start := env.Now()
			waits := activities.PlanResult{Outcome: notification.AwaitingApproval, Problem: "it would tell more than 2 people", AskedAt: start.UTC()}
			env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(waits, nil).Once()
			if tt.ends == "" {
				env.plans(notification.Cursor{}, onlyPage(batch(1)))
			}
			var at []time.Duration
			env.OnActivity(acts.AnswerApproval, mock.Anything,
				mock.Anything).Return(func(_ context.Context, in activities.AnswerApprovalInput) (notification.ApprovalAnswer, error) {
				at = append(at, env.Now().Sub(start))
				require.NotEmpty(t, in.By)
				return tt.stored[len(at)-1], nil
			}).Times(len(tt.stored))
			if tt.warned {
				env.OnActivity(acts.WarnApproval, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.WarnApprovalInput) error {
					require.Equal(t, 6*day, env.Now().Sub(start))
					require.Equal(t, 7*day, in.Until.Sub(start))
					return nil
				}).Once()
			}
			for _, signal := range tt.signals {
				env.signals(tt.after, workflows.Approve, signal)
			}
			env.OnActivity(acts.FinishEvent, mock.Anything, mock.MatchedBy(func(in activities.FinishEventInput) bool {
				return in.Outcome == tt.ends && in.Success == (tt.ends == "")
			})).Return(notification.Counts{Outcome: tt.ends}, nil).Once()

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

			require.True(t, env.IsWorkflowCompleted())
			require.NoError(t, env.GetWorkflowError())
			require.Len(t, at, len(tt.stored))
			if len(tt.signals) == 0 {
				require.Equal(t, []time.Duration{7 * day}, at)
			}
			require.Len(t, env.deliveries.started, map[bool]int{true: 1}[tt.ends == ""])
		})
	}
}

// An event that waits can be cancelled.
func TestNotifyEventCancelledBeforeApproval(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	waits := activities.PlanResult{Outcome: notification.AwaitingApproval, AskedAt: env.Now().UTC()}
	env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(waits, nil).Once()
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.finishes(notification.EventCancelled)

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireStopped(t)
	require.Equal(t, []string{"AWAITING_APPROVAL", "CANCELLED"}, env.outcomes)
}
