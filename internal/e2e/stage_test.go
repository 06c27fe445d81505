package e2e_test

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// stage runs this build's workflows on a real server, with activities that play the parts of a race.
// It stages what the other tests show too rarely: an order or a cancellation at a certain moment.
type stage struct {
	*system
	races map[string]*race
}

// race is a workflow, and what happens while it runs.
type race struct {
	*system                 // of the stage
	id      string          // of the event; the ids of its workflows begin with it
	parts   map[string]part // the activities that do not play their usual part, by name
	before  func(r *race)   // nil: nothing
	run     func(r *race) (id, queue string, workflow, input any)
	happens func(r *race) // while it runs; nil: nothing
	ends    enums.WorkflowExecutionStatus

	reached, released chan struct{} // an activity has reached its hold, and may leave it
	calls             map[string]*atomic.Int64
}

// part plays an activity. A nil result is the zero value.
type part func(ctx context.Context, c call) (result any, err error)

// call is the n-th call of an activity in a race; n counts from 1.
type call struct {
	*race
	input any
	n     int64
	local bool
}

// newStage returns a stage with its workers. The options change the connections to Temporal.
func newStage(t *testing.T, options ...grpc.DialOption) *stage {
	t.Helper()
	s := &stage{system: &system{t: t, name: "e2e-" + uuid.NewString()[:8]}, races: map[string]*race{}}
	address := os.Getenv("TEMPORAL_ADDRESS")
	require.NotEmpty(t, address, "TEMPORAL_ADDRESS is not set: run make test")
	s.temporal = must(client.Dial(client.Options{HostPort: address, Logger: log.NewStructuredLogger(discard()),
		ConnectionOptions: client.ConnectionOptions{DialOptions: options}}))(t)
	t.Cleanup(s.temporal.Close)
	t.Cleanup(func() { assert.NotZero(t, s.checkHistories()) })
	require.NoError(t, launch.RegisterSearchAttributes(t.Context(), s.temporal, client.DefaultNamespace))
	queues := []string{workflows.EventsQueue(s.name)}
	for _, channel := range []notification.Channel{notification.Email, notification.SMS} {
		queue := workflows.ChannelQueue(s.name, channel)
		queues = append(queues, queue, workflows.RecordsQueue(queue), workflows.BatchesQueue(queue))
	}
	for _, queue := range queues {
		options := sdkworker.Options{MaxHeartbeatThrottleInterval: time.Second} // a heartbeat learns of a cancellation
		w := sdkworker.New(s.temporal, queue, options)
		for _, workflow := range workflows.All() {
			w.RegisterWorkflow(workflow)
		}
		for name, actor := range s.actors() {
			w.RegisterActivityWithOptions(actor, activity.RegisterOptions{Name: name})
		}
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
	}
	return s
}

// play runs races side by side, each to its end.
func (s *stage) play(races map[string]*race) {
	actors := s.actors()
	for name, r := range races {
		r.id = s.name + "-" + name
		r.reached, r.released, r.calls = make(chan struct{}), make(chan struct{}), map[string]*atomic.Int64{}
		for activity := range actors {
			r.calls[activity] = &atomic.Int64{}
		}
		for activity := range r.parts {
			require.Contains(s.t, actors, activity)
		}
		s.races[name] = r
	}
	s.t.Run("races", func(t *testing.T) {
		for name, r := range races {
			t.Run(name, func(t *testing.T) {
				t.Parallel()

				here := *s.system
				here.t, r.system = t, &here
				if r.before != nil {
					r.before(r)
				}
				id, queue, workflow, input := r.run(r)
				run := must(s.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, workflow, input))(t)
				first := run.GetRunID()
				if r.happens != nil {
					r.happens(r)
				}
				_ = run.Get(t.Context(), nil) // its failure may be the wanted end
				description := must(s.temporal.DescribeWorkflow(t.Context(), id, first))(t)
				require.Equal(t, r.ends.String(), description.RawResponse.GetWorkflowExecutionInfo().GetStatus().String())
			})
		}
	})
}

// actors returns a function for each activity, with its name and signature, that plays its part.
func (s *stage) actors() map[string]any {
	all, kind := map[string]any{}, reflect.TypeFor[*activities.Activities]()
	for i := range kind.NumMethod() {
		method := kind.Method(i)
		var in, out []reflect.Type
		for n := 1; n < method.Type.NumIn(); n++ { // without the receiver
			in = append(in, method.Type.In(n))
		}
		for n := range method.Type.NumOut() {
			out = append(out, method.Type.Out(n))
		}
		all[method.Name] = reflect.MakeFunc(reflect.FuncOf(in, out, false), func(args []reflect.Value) []reflect.Value {
			c := call{}
			if len(args) > 1 {
				c.input = args[1].Interface()
			}
			result, err := s.act(args[0].Interface().(context.Context), method.Name, c)
			results := make([]reflect.Value, len(out))
			for n, value := range append([]any{result}, err)[2-len(out):] {
				if results[n] = reflect.Zero(out[n]); value != nil {
					results[n] = reflect.ValueOf(value)
				}
			}
			return results
		}).Interface()
	}
	return all
}

// act plays an activity of the race that its workflow belongs to.
func (s *stage) act(ctx context.Context, name string, c call) (any, error) {
	info := activity.GetInfo(ctx)
	race, _, _ := strings.Cut(strings.TrimPrefix(info.WorkflowExecution.ID, s.name+"-"), "-")
	c.race, c.local = s.races[race], info.IsLocalActivity
	c.n = c.calls[name].Add(1)
	if part, ok := c.parts[name]; ok {
		return part(ctx, c)
	}
	return usual(ctx, name, c)
}

// usual plays an activity that succeeds at once. It finds one delivery to each channel.
func usual(ctx context.Context, name string, c call) (any, error) {
	switch in := c.input.(type) {
	case activities.SendInput:
		return activities.SendResult{Status: notification.Sent}, nil
	case activities.RescheduleInput:
		if in.Until.After(time.Now()) {
			return activities.SendResult{
				Status: notification.Pending, NotBefore: in.Until, Wait: notification.InstantText(in.Until) + ": " + notification.WaitOperator,
			}, nil
		}
		return activities.SendResult{Status: notification.Pending, NotSent: true}, nil
	case activities.GiveUpInput:
		return in.Status, nil
	case activities.FinishEventInput:
		return notification.Counts{Outcome: in.Outcome}, nil
	case activities.SealInput:
		return sealed(c.id + "-item"), nil
	case activities.SendDigestInput:
		return activities.SendDigestResult{Items: 1}, nil
	case activities.HolderInput:
		asking := &activities.Activities{Executions: &launch.Launcher{Client: c.temporal, Prefix: c.name}}
		return asking.AwaitHolder(ctx, in)
	}
	return nil, nil
}

// hold reports that an activity has reached its hold, and keeps it there.
func (r *race) hold(ctx context.Context) error {
	close(r.reached)
	select {
	case <-r.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *race) awaitHold() {
	r.t.Helper()
	select {
	case <-r.reached:
	case <-time.After(patience):
		r.t.Fatal("no activity reaches its hold")
	}
}

func (r *race) release() { close(r.released) }

// untilCancelled plays an activity that works until it learns of its cancellation.
func untilCancelled(ctx context.Context, c call) (any, error) {
	close(c.reached)
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, ctx.Err()
}

// sees waits until a workflow's history has events of these types, in this order.
func (r *race) sees(id string, types ...enums.EventType) {
	r.t.Helper()
	r.awaitBegun(id)
	events := r.temporal.GetWorkflowHistory(r.t.Context(), id, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for len(types) > 0 {
		require.True(r.t, events.HasNext(), "%s ended without %v", id, types)
		if must(events.Next())(r.t).GetEventType() == types[0] {
			types = types[1:]
		}
	}
}

// awaitRetry waits until an activity of a workflow waits for its next attempt.
func (r *race) awaitRetry(id string) {
	r.t.Helper()
	r.eventually(func() bool {
		return slices.ContainsFunc(r.pending(id), func(pending *workflowpb.PendingActivityInfo) bool {
			return pending.GetAttempt() > 1 && pending.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED
		})
	}, "%s does not retry", id)
}

func (r *race) cancel(id string) {
	r.t.Helper()
	require.NoError(r.t, r.temporal.CancelWorkflow(r.t.Context(), id, ""))
}

func (r *race) signal(id, name string, argument any) {
	r.t.Helper()
	require.NoError(r.t, r.temporal.SignalWorkflow(r.t.Context(), id, "", name, argument))
}

// unclear is a failure of a provider that is retried after a time.
func unclear(retry time.Duration) error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: retry}
	return temporal.NewApplicationErrorWithOptions("no clear answer: 503", string(notification.Ambiguous), options)
}

// refused is a failure for good.
func refused() error {
	return temporal.NewNonRetryableApplicationError("refused: 400", string(notification.Refused), nil)
}
