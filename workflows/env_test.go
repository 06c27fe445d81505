package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var acts *activities.Activities

// The types of workflow, as histories name them.
const (
	pollOutbox          = "PollOutbox"
	notifyEvent         = "NotifyEvent"
	notifyChannel       = "NotifyChannel"
	notifyPage          = "NotifyPage"
	deliverBatch        = "DeliverBatch"
	deliverNotification = "DeliverNotification"
	digestWorkflow      = "Digest"
	sweepWorkflow       = "Sweep"
	cleanOutboxes       = "CleanOutboxes"
	followUp            = workflows.FollowUpType
	escalateWorkflow    = "Escalate"
)

// environment is a workflow with mocked activities. Its clock skips every wait. Unexpected and
// missing calls of activities fail the test.
type environment struct {
	*testsuite.TestWorkflowEnvironment
	outcomes   []string // every value that HeraldOutcome had
	row        row      // of the delivery
	unanswered int      // answers of Send that no call has got yet

	// The children replace all other workflows.
	deliveries  children[workflows.DeliverInput]
	pages       children[workflows.PageInput]
	lanes       children[workflows.ChannelInput]
	batches     children[workflows.BatchInput]
	escalations children[workflows.EscalateInput]
}

// The names of children that run Herald's code, for [environment.runsAsChild].
const realDelivery, realPage, realBatch = "real delivery", "real page", "real batch"

func newEnv(t *testing.T) *environment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quietLogger{})
	env := &environment{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	// real time for the next step of a workflow; the default of 3 s is short on a busy machine
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the default of 1 s as well
	env.RegisterActivity(&activities.Activities{})
	t.Cleanup(func() {
		env.AssertExpectations(t)
		require.Zero(t, env.unanswered)
	})
	for name, child := range map[string]any{
		deliverNotification: env.deliveries.run, notifyPage: env.pages.run, notifyChannel: env.lanes.run,
		deliverBatch: env.batches.run, escalateWorkflow: env.escalations.run,
		realDelivery: func(ctx workflow.Context, in workflows.DeliverInput) (workflows.DeliverResult, error) {
			return workflows.DeliverNotification(ctx, in)
		},
		realPage: func(ctx workflow.Context, in workflows.PageInput) error { return workflows.NotifyPage(ctx, in) },
		realBatch: func(ctx workflow.Context, in workflows.BatchInput) (workflows.BatchResult, error) {
			return workflows.DeliverBatch(ctx, in)
		},
	} {
		env.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: name})
	}
	env.lanes.end = untilPlanned
	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe().Run(func(args mock.Arguments) {
		if value, ok := args.Get(0).(temporal.SearchAttributes).GetKeyword(workflows.OutcomeAttribute); ok {
			env.outcomes = append(env.outcomes, value)
		}
	})
	return env
}

// requireOutcome checks HeraldOutcome; empty: not set.
func (e *environment) requireOutcome(t *testing.T, want string) {
	t.Helper()
	if want == "" {
		require.Empty(t, e.outcomes)
	} else {
		require.Equal(t, []string{want}, e.outcomes)
	}
}

// requireFailure checks the type of the workflow's failure; empty: none.
func (e *environment) requireFailure(t *testing.T, want string) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	if want == "" {
		require.NoError(t, e.GetWorkflowError())
		return
	}
	var failure *temporal.ApplicationError
	require.ErrorAs(t, e.GetWorkflowError(), &failure)
	require.Equal(t, want, failure.Type())
}

// requireCancelled checks that the workflow ended as cancelled, also in HeraldOutcome.
func (e *environment) requireCancelled(t *testing.T) {
	t.Helper()
	e.requireStopped(t)
	e.requireOutcome(t, "CANCELLED")
}

// requireStopped checks that a workflow without an outcome ended as cancelled.
func (e *environment) requireStopped(t *testing.T) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	require.True(t, temporal.IsCanceledError(e.GetWorkflowError()), "%v", e.GetWorkflowError())
}

// resultOf returns the result of a workflow that completed without an error.
func resultOf[T any](t *testing.T, e *environment) (result T) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	require.NoError(t, e.GetWorkflowResult(&result))
	return result
}

// nextRun returns the input of the next run of a workflow that continues as new.
func nextRun[Input any](t *testing.T, env *environment, workflowType string) Input {
	t.Helper()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, workflowType, next.WorkflowType.Name)
	var in Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	return in
}

func policy(channel notification.Channel) activities.DeliveryPolicy {
	policy := activities.DeliveryPolicy{
		TaskQueue:     workflows.ChannelQueue("herald", channel),
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second},
	}
	if channel.BestEffort() {
		policy.MaxAttempts = 1
	}
	return policy
}

// local is the policy of a channel without a rate limit.
func local(channel notification.Channel) activities.DeliveryPolicy {
	p := policy(channel)
	p.Local = true
	return p
}

// quietLogger drops the logs of expected failures.
type quietLogger struct{}

func (quietLogger) Debug(string, ...any) {}
func (quietLogger) Info(string, ...any)  {}
func (quietLogger) Warn(string, ...any)  {}
func (quietLogger) Error(string, ...any) {}
