package explain

import (
	"errors"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// calls are the activities, children, timers, signals and the end that the code of a
// workflow asked for in the latest workflow task.
type calls struct {
	history int // length of the history that the task had
	made    []string
}

func (c *calls) note(ctx workflow.Context, call string) {
	if length := workflow.GetInfo(ctx).GetCurrentHistoryLength(); length != c.history {
		c.history, c.made = length, nil
	}
	c.made = append(c.made, call)
}

// recorder notes the calls of a workflow that is replayed.
type recorder struct {
	interceptor.WorkerInterceptorBase
	*calls
}

// InterceptWorkflow is called by the SDK.
func (r *recorder) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &inbound{calls: r.calls}
	in.Next = next
	return in
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	*calls
}

func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &outbound{calls: i.calls}
	out.Next = next
	return i.Next.Init(out)
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	var again *workflow.ContinueAsNewError
	switch {
	case err == nil:
		i.note(ctx, "CompleteWorkflowExecution")
	case errors.As(err, &again):
		i.note(ctx, "ContinueAsNewWorkflowExecution")
	default:
		i.note(ctx, "FailWorkflowExecution, or CancelWorkflowExecution")
	}
	return result, err
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	*calls
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	o.note(ctx, "ScheduleActivityTask "+name)
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	o.note(ctx, "StartChildWorkflowExecution "+name)
	return o.Next.ExecuteChildWorkflow(ctx, name, args...)
}

func (o *outbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.note(ctx, "StartTimer "+d.String())
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

func (o *outbound) SignalExternalWorkflow(ctx workflow.Context, id, runID, signal string, arg any) workflow.Future {
	o.note(ctx, "SignalExternalWorkflowExecution "+signal)
	return o.Next.SignalExternalWorkflow(ctx, id, runID, signal, arg)
}
