package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// stretches plays NextDeliveries for a lane with a number of stretches of two deliveries, and after
// all are planned, with one more that was stored late.
func stretches(most int64) part {
	return func(_ context.Context, c call) (any, error) {
		in := c.input.(activities.NextInput)
		next := in.After/10 + 1
		if in.Pending && next == 1 || !in.Pending && next <= most {
			policy := c.policyOf(in.Lane.Channel)
			ids := notification.IDRange{First: next * 10, Last: next*10 + 1}
			return activities.NextResult{IDRange: ids, Policy: &policy, Priority: notification.Normal}, nil
		}
		return nil, nil
	}
}

// lists plays ListDeliveries: it finds the deliveries to customers 1 and 2. In a lane that waits, it
// finds one to customer 3.
func lists(_ context.Context, c call) (any, error) {
	in := c.input.(activities.ListInput)
	if in.Lane.Waiting {
		later := c.batch("3", in.Lane.Channel)
		later.Deliveries[0].Later = true
		return activities.ListResult{DeliveryBatch: later}, nil
	}
	first, second := c.batch("1", in.Lane.Channel), c.batch("2", in.Lane.Channel)
	first.Deliveries = append(first.Deliveries, second.Deliveries...)
	return activities.ListResult{DeliveryBatch: first}, nil
}

// inLanes plays PlanDeliveries with two pages of an event with lanes. The second page comes when
// the first lane waits for more rows.
func inLanes(bulk bool, lanes ...notification.Lane) part {
	return func(ctx context.Context, c call) (any, error) {
		plan := activities.PlanResult{EventType: "NEWS", Aggregate: everyone, Bulk: bulk, Lanes: lanes}
		if c.n == 1 {
			plan.Next = &notification.Cursor{Number: 1, UserID: "1", UserType: notification.Customer}
			return plan, nil
		}
		return plan, c.hold(ctx)
	}
}

// onePage plays PlanDeliveries with one page of an event with a lane.
func onePage(bulk bool) part {
	return func(context.Context, call) (any, error) {
		return activities.PlanResult{EventType: "NEWS", Aggregate: everyone, Bulk: bulk, Lanes: []notification.Lane{mailLane}}, nil
	}
}

// orphaned plays NextDeliveries for a lane with one stretch. It asks Temporal whether the event still
// has the lane.
func orphaned(ctx context.Context, c call) (any, error) {
	found, err := stretches(1)(ctx, c)
	if found != nil || err != nil || !c.input.(activities.NextInput).Planning {
		return found, err
	}
	has, err := (&launch.Launcher{Client: c.temporal, Prefix: c.name}).HasChild(ctx, c.id, workflows.LaneID(c.id, notification.Email))
	return activities.NextResult{Orphaned: !has}, err
}

var (
	mailLane  = notification.Lane{Channel: notification.Email}
	laterLane = notification.Lane{Channel: notification.Email, Waiting: true}
	everyone  = notification.Entity{Type: "BROADCAST", ID: "0"}
)

// Lanes work while their event plans, and are cancelled. If the event is reset to before the start of a
// lane, nobody signals this lane: it ends, and the event starts it anew.
func TestRacesOfLanes(t *testing.T) {
	t.Parallel()

	idle := func(r *race) {
		r.awaitHold()
		r.sees(workflows.LaneID(r.id, notification.Email), timerStarted, timerStarted)
	}
	failing := func(_ context.Context, c call) (any, error) {
		if c.input.(activities.SendInput).DeliveryID == notification.DeliveryID(c.id, "customer", "3", notification.Email) {
			return inAnHour(), nil
		}
		return nil, unclear(time.Hour)
	}
	newStage(t).play(map[string]*race{
		"plannedLate": {run: event, ends: completed, happens: func(r *race) { idle(r); r.release() },
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane), "NextDeliveries": stretches(2), "ListDeliveries": lists}},
		"resetWhilePlanning": {run: event, ends: terminated,
			happens: func(r *race) {
				r.awaitHold()
				r.awaitBegun(workflows.LaneID(r.id, notification.Email))
				r.reset(r.id, slices.Min[[]int64])
				r.release()
				require.NoError(r.t, r.temporal.GetWorkflow(r.t.Context(), r.id, "").Get(r.t.Context(), nil))
			},
			parts: map[string]part{"NextDeliveries": orphaned, "ListDeliveries": lists,
				"PlanDeliveries": func(ctx context.Context, c call) (any, error) {
					if c.n > 2 { // of the new run
						return onePage(false)(ctx, c)
					}
					return inLanes(false, mailLane)(ctx, c)
				}}},
		"laneCancelled": {run: event, ends: completed,
			happens: func(r *race) {
				r.awaitHold()
				r.awaitRetry(r.mail())
				r.cancel(workflows.LaneID(r.id, notification.Email))
				r.sees(r.id, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED)
				r.release()
			},
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane),
				"NextDeliveries": stretches(1), "ListDeliveries": lists, "Send": failing}},
		"waitingCancelled": {run: event, ends: canceled,
			happens: func(r *race) {
				r.awaitHold()
				r.sees(notification.DeliveryID(r.id, "customer", "3", notification.Email), timerStarted)
				r.cancel(r.id)
				r.sees(r.id, askedToStop)
				r.release()
			},
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane, laterLane),
				"NextDeliveries": stretches(1), "ListDeliveries": lists, "Send": failing}},
		"batches": {run: event, ends: completed, happens: func(r *race) { idle(r); r.release() }, parts: map[string]part{
			"PlanDeliveries": inLanes(true, mailLane), "NextDeliveries": stretches(2), "ListDeliveries": lists,
			"SendBatch": sendsBatches, "ClaimFailed": claimsFailed,
		}},
		"batchCancelled": {run: event, ends: canceled, happens: func(r *race) { r.awaitHold(); r.cancel(r.id) }, parts: map[string]part{
			"PlanDeliveries": onePage(true),
			"NextDeliveries": stretches(1), "SendBatch": untilCancelled,
		}},
	})
}

// sendsBatches plays SendBatch. The first execution ends early and leaves a result to record. The
// next one leaves deliveries to separate workflows.
func sendsBatches(_ context.Context, c call) (any, error) {
	in := c.input.(activities.SendBatchInput)
	switch {
	case in.Number > 1:
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1, Failed: 1}}, nil
	case c.calls["RecordBatch"].Load() == 0:
		unrecorded := []notification.AttemptResult{{DeliveryID: c.mail(), Number: 1, Outcome: notification.OutcomeSent}}
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1}, More: true, Unrecorded: unrecorded}, nil
	default:
		return activities.SendBatchResult{HasRemaining: true}, nil
	}
}

// claimsFailed plays ClaimFailed. A delivery of the second batch failed for good.
func claimsFailed(_ context.Context, c call) (any, error) {
	in := c.input.(activities.ClaimFailedInput)
	if in.IDs.First == 10 {
		return nil, nil
	}
	failed := c.batch("9", in.Lane.Channel).Deliveries[0]
	return activities.ClaimFailedResult{Failed: []notification.FailedDelivery{{Delivery: failed, Reason: "refused: 400"}}}, nil
}

// suggest makes the server of a client suggest early that a workflow continues as new. A real server
// does so after thousands of events.
func suggest(after int64) grpc.DialOption {
	mark := func(history *historypb.History) {
		for _, event := range history.GetEvents() {
			if started := event.GetWorkflowTaskStartedEventAttributes(); started != nil && event.GetEventId() > after {
				started.SuggestContinueAsNew = true
			}
		}
	}
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, in, out any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		err := invoke(ctx, method, in, out, conn, options...)
		switch out := out.(type) {
		case *workflowservice.PollWorkflowTaskQueueResponse:
			mark(out.GetHistory())
		case *workflowservice.RespondWorkflowTaskCompletedResponse:
			mark(out.GetWorkflowTask().GetHistory())
		case *workflowservice.GetWorkflowExecutionHistoryResponse:
			mark(out.GetHistory())
		}
		return err
	})
}

// runsAgain reports whether a workflow has continued in another run.
func (r *race) runsAgain(id string) bool {
	description := must(r.temporal.DescribeWorkflow(r.t.Context(), id, ""))(r.t)
	info := description.RawResponse.GetWorkflowExecutionInfo()
	return info.GetFirstRunId() != info.GetExecution().GetRunId()
}

// Workflows with a long history continue in another run.
func TestLongHistories(t *testing.T) {
	t.Parallel()

	newStage(t, suggest(15)).play(map[string]*race{
		"lane": {ends: continued, parts: map[string]part{"NextDeliveries": stretches(2), "ListDeliveries": lists},
			run: func(r *race) (id, queue string, workflow, input any) {
				in := workflows.ChannelInput{EventID: r.id, EventType: "NEWS", Aggregate: everyone, Lane: mailLane}
				return workflows.LaneID(r.id, notification.Email), workflows.EventsQueue(r.name), workflows.NotifyChannel, in
			},
			happens: func(r *race) {
				id := workflows.LaneID(r.id, notification.Email)
				r.eventually(func() bool { return r.runsAgain(id) }, "the lane does not continue")
				r.signal(id, "all-planned", nil)
			}},
		"digest": {ends: continued,
			run: func(r *race) (id, queue string, workflow, input any) {
				in := workflows.DigestInput{Key: digestKey, Window: time.Hour, Policy: r.policyOf(notification.Email)}
				return r.digestID(), in.Policy.TaskQueue, workflows.Digest, in
			},
			happens: func(r *race) {
				r.eventually(func() bool {
					r.signal(r.digestID(), workflows.DigestJoined, r.id+"-item")
					return r.runsAgain(r.id + "-digest")
				}, "the digest does not continue")
				r.signal(r.digestID(), workflows.SendNow, nil)
			}},
		"poller": {ends: continued,
			run: func(r *race) (id, queue string, workflow, input any) {
				return r.id + "-poller", workflows.EventsQueue(r.name), workflows.PollOutbox, workflows.PollInput{Source: notification.HeraldSource}
			},
			happens: func(r *race) {
				r.eventually(func() bool { return r.runsAgain(r.id + "-poller") }, "the poller does not continue")
				r.cancel(r.id + "-poller")
			}},
	})
}
