package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	completed = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	canceled  = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	continued = enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW

	timerStarted    = enums.EVENT_TYPE_TIMER_STARTED
	askedToStop     = enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED
	cancelRequested = enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
	signalled       = enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
)

// policyOf is the policy of a channel on the stage.
func (s *system) policyOf(channel notification.Channel) activities.DeliveryPolicy {
	return activities.DeliveryPolicy{
		TaskQueue:     workflows.ChannelQueue(s.name, channel),
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 200 * time.Millisecond, Coefficient: 2, Timeout: time.Minute},
	}
}

// mail is the id of the race's delivery.
func (r *race) mail() string {
	return notification.DeliveryID(r.id, "customer", "1", notification.Email)
}

// deliver runs the race's delivery alone. Its first attempt is a local activity, or a normal one.
func deliver(locally bool) func(*race) (id, queue string, workflow, input any) {
	return func(r *race) (id, queue string, workflow, input any) {
		in := workflows.DeliverInput{DeliveryID: r.mail(), Channel: notification.Email, Policy: r.policyOf(notification.Email)}
		in.Policy.Local = locally
		return r.mail(), in.Policy.TaskQueue, workflows.DeliverNotification, in
	}
}

// held keeps the first call of an activity in flight until it is released. Later calls have their
// usual result.
func held(name string, result any, err error) part {
	return func(ctx context.Context, c call) (any, error) {
		if c.n > 1 {
			return usual(ctx, name, c)
		}
		if err := c.hold(ctx); err != nil {
			return nil, err
		}
		return result, err
	}
}

// An order or a cancellation comes while the provider has the message.
func TestRacesOfDeliveries(t *testing.T) {
	t.Parallel()

	sent := activities.SendResult{Status: notification.Sent}
	sends := held("Send", sent, nil)
	fails := held("Send", nil, unclear(time.Hour))
	wasSent := func(context.Context, call) (any, error) { return notification.Sent, nil }
	cancelDuring := func(r *race) { r.awaitHold(); r.cancel(r.mail()); r.sees(r.mail(), askedToStop); r.release() }
	hastenDuring := func(r *race) {
		r.awaitHold()
		r.signal(r.mail(), workflows.SendNow, nil)
		r.sees(r.mail(), askedToStop)
		r.release()
	}
	moveDuring := func(r *race) {
		r.awaitHold()
		r.signal(r.mail(), workflows.Reschedule, time.Now().Add(time.Second))
		r.release()
	}
	newStage(t).play(map[string]*race{
		"cancelledInVain":  {run: deliver(false), parts: map[string]part{"Send": sends}, happens: cancelDuring, ends: completed},
		"cancelledFailing": {run: deliver(false), parts: map[string]part{"Send": fails}, happens: cancelDuring, ends: canceled},
		"hastenedFailing":  {run: deliver(false), parts: map[string]part{"Send": fails}, happens: hastenDuring, ends: completed},
		"hastenedRefused": {run: deliver(false), parts: map[string]part{"Send": held("Send", nil, refused())}, happens: hastenDuring,
			ends: enums.WORKFLOW_EXECUTION_STATUS_FAILED},
		"firstCancelledInVain": {run: deliver(true), parts: map[string]part{"SendFirst": held("SendFirst", sent, nil), "GiveUp": wasSent}, ends: completed,
			happens: func(r *race) { r.awaitHold(); r.cancel(r.mail()); r.release() }},
		"firstCancelledFailing": {run: deliver(true), parts: map[string]part{"SendFirst": held("SendFirst", nil, unclear(time.Hour))}, ends: canceled,
			happens: func(r *race) { r.awaitHold(); r.cancel(r.mail()); r.release() }},
		"firstMovedInVain":  {run: deliver(true), parts: map[string]part{"SendFirst": held("SendFirst", sent, nil)}, happens: moveDuring, ends: completed},
		"firstMovedFailing": {run: deliver(true), parts: map[string]part{"SendFirst": held("SendFirst", nil, unclear(time.Hour))}, happens: moveDuring, ends: completed},
		"notRecorded": {run: deliver(true), ends: completed, parts: map[string]part{"SendFirst": func(_ context.Context, c call) (any, error) {
			return activities.SendResult{Status: notification.Sent, Unrecorded: &notification.AttemptResult{DeliveryID: c.mail(), Number: 1, Outcome: notification.OutcomeSent}}, nil
		}}},
	})
}

// digestKey is the key of the digests on the stage.
var digestKey = notification.DigestKey{UserType: notification.Customer, UserID: "1", Channel: notification.Email, EventType: "NEWS"}

// digest runs a digest without the workflows of its items.
func digest(r *race) (id, queue string, workflow, input any) {
	in := workflows.DigestInput{Key: digestKey, Window: time.Second, Policy: r.policyOf(notification.Email)}
	return r.id + "-digest", in.Policy.TaskQueue, workflows.Digest, in
}

// sealed is a digest's list of items.
func sealed(items ...string) activities.SealResult {
	return activities.SealResult{SealedDigest: notification.SealedDigest{Items: items}}
}

// An item joins, or an order comes, while the provider has the digest.
func TestRacesOfDigests(t *testing.T) {
	t.Parallel()

	sends := held("SendDigest", activities.SendDigestResult{Items: 1}, nil)
	sealsOnce := func(_ context.Context, c call) (any, error) {
		if c.n > 1 {
			return sealed(), nil
		}
		return sealed(c.id + "-item"), nil
	}
	during := func(happens func(r *race)) func(*race) {
		return func(r *race) { r.awaitHold(); happens(r); r.release() }
	}
	newStage(t).play(map[string]*race{
		"joinedLate": {run: digest, parts: map[string]part{"SendDigest": sends, "SealDigest": sealsOnce}, ends: continued,
			happens: during(func(r *race) {
				r.signal(r.id+"-digest", workflows.DigestJoined, "late")
				r.sees(r.id+"-digest", signalled)
			})},
		"cancelledInVain": {run: digest, parts: map[string]part{"SendDigest": sends}, ends: completed,
			happens: during(func(r *race) { r.cancel(r.id + "-digest"); r.sees(r.id+"-digest", askedToStop) })},
		"hastenedFailing": {run: digest, parts: map[string]part{"SendDigest": held("SendDigest", nil, unclear(time.Hour))}, ends: completed,
			happens: during(func(r *race) { r.signal(r.id+"-digest", workflows.SendNow, nil); r.sees(r.id+"-digest", askedToStop) })},
		"cancelledRetrying": {run: digest, parts: map[string]part{"SendDigest": func(context.Context, call) (any, error) { return nil, unclear(time.Hour) }}, ends: canceled,
			happens: func(r *race) { r.awaitRetry(r.id + "-digest"); r.cancel(r.id + "-digest") }},
		"notRecorded": {run: digest, ends: completed, parts: map[string]part{"SendDigest": func(_ context.Context, c call) (any, error) {
			return activities.SendDigestResult{Items: 1, Unrecorded: &notification.AttemptResult{DigestID: c.id, Outcome: notification.OutcomeSent}}, nil
		}}},
		"itemCancelledInVain": itemCancelledInVain(sends),
	})
}

// itemCancelledInVain cancels a delivery while the provider has its digest. The delivery waits for
// the result.
func itemCancelledInVain(sends part) *race {
	return &race{
		ends: completed,
		parts: map[string]part{
			"SendDigest": sends,
			"SealDigest": func(_ context.Context, c call) (any, error) { return sealed(c.mail()), nil },
			"GiveUp": func(_ context.Context, c call) (any, error) {
				return []notification.Status{notification.Pending, notification.Sent}[min(c.n, 2)-1], nil
			},
			"JoinDigest": func(ctx context.Context, c call) (any, error) {
				place := notification.DigestPlace{Key: digestKey, Who: "customer", Priority: notification.Normal, Window: time.Second}
				starter := launch.Launcher{Client: c.temporal, Prefix: c.id}
				id, err := starter.JoinDigest(ctx, activities.Join{DeliveryID: c.mail(), Place: place, Policy: c.policyOf(notification.Email)})
				return activities.JoinResult{Status: notification.Pending, DigestID: id, Window: time.Second}, err
			},
		},
		run: func(r *race) (id, queue string, workflow, input any) {
			in := workflows.DeliverInput{DeliveryID: r.mail(), Channel: notification.Email, Policy: r.policyOf(notification.Email), Digest: true}
			return r.mail(), in.Policy.TaskQueue, workflows.DeliverNotification, in
		},
		happens: func(r *race) {
			r.awaitHold()
			r.cancel(r.mail())
			r.sees(r.mail(), cancelRequested, timerStarted)
			r.release()
		},
	}
}

// event runs an event, which publishes its message.
func event(r *race) (id, queue string, workflow, input any) {
	return r.id, workflows.EventsQueue(r.name), workflows.NotifyEvent, workflows.NotifyInput{EventID: r.id, Source: notification.HeraldSource, Publish: true}
}

// planned is the plan of a page with a delivery over each channel.
func (r *race) planned(channels ...notification.Channel) activities.PlanResult {
	plan := activities.PlanResult{EventType: "NEWS", Aggregate: notification.Entity{Type: "CUSTOMER", ID: "1"}}
	plan.Batch = r.batch("1", channels...)
	return plan
}

// batch returns the deliveries to a customer.
func (r *race) batch(user string, channels ...notification.Channel) activities.DeliveryBatch {
	batch := activities.DeliveryBatch{Policies: map[notification.Channel]activities.DeliveryPolicy{}}
	for _, channel := range channels {
		batch.Policies[channel] = r.policyOf(channel)
		batch.Deliveries = append(batch.Deliveries, notification.Delivery{
			DeliveryID: notification.DeliveryID(r.id, "customer", user, channel), Channel: channel,
			UserType: notification.Customer, UserID: user, Priority: notification.Normal,
		})
	}
	return batch
}

// plans plans the only page of an event.
func plans(_ context.Context, c call) (any, error) {
	return c.planned(notification.Email, notification.SMS), nil
}

// holdMail starts a workflow with the id of the event's e-mail, on the queue of a channel.
func holdMail(channel notification.Channel) func(*race) {
	return func(r *race) {
		in := workflows.DeliverInput{DeliveryID: r.mail(), Channel: channel, SendAfter: time.Now().Add(time.Hour), Policy: r.policyOf(channel)}
		options := client.StartWorkflowOptions{ID: r.mail(), TaskQueue: in.Policy.TaskQueue, WorkflowRunTimeout: time.Minute}
		must(r.temporal.ExecuteWorkflow(r.t.Context(), options, workflows.DeliverNotification, in))(r.t)
	}
}

// Events are cancelled at bad moments, lose their first tries, or find their children's ids taken.
func TestRacesOfEvents(t *testing.T) {
	t.Parallel()

	away := func(name string, otherwise part) part {
		return func(ctx context.Context, c call) (any, error) {
			if c.local {
				return nil, errors.New("the database is away")
			}
			return otherwise(ctx, c)
		}
	}
	newStage(t).play(map[string]*race{
		"cancelledPlanning": {run: event, parts: map[string]part{"PlanDeliveries": away("PlanDeliveries", untilCancelled)}, ends: canceled,
			happens: func(r *race) { r.awaitHold(); r.cancel(r.id) }},
		"cancelledEnding": {run: event, ends: canceled, happens: func(r *race) { r.awaitHold(); r.cancel(r.id); r.release() },
			parts: map[string]part{"PlanDeliveries": plans, "FinishEvent": func(ctx context.Context, c call) (any, error) {
				if c.n == 1 {
					if err := c.hold(ctx); err != nil {
						return nil, err
					}
				}
				return usual(ctx, "FinishEvent", c)
			}}},
		"firstTriesFail": {run: event, ends: completed, parts: map[string]part{
			"PlanDeliveries": away("PlanDeliveries", plans),
			"PublishEvent":   away("PublishEvent", func(context.Context, call) (any, error) { return nil, nil }),
			"FinishEvent":    away("FinishEvent", func(ctx context.Context, c call) (any, error) { return usual(ctx, "FinishEvent", c) }),
		}},
		"idHeld": {before: holdMail(notification.Email), run: event, parts: map[string]part{"PlanDeliveries": plans}, ends: completed,
			happens: func(r *race) {
				r.sees(r.id, enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
				require.NoError(r.t, r.temporal.TerminateWorkflow(r.t.Context(), r.mail(), "", "it is in the way"))
			}},
		"idTaken":           {before: holdMail(notification.SMS), run: event, parts: map[string]part{"PlanDeliveries": plans}, ends: completed},
		"escalationTooLate": escalationTooLate(),
	})
}

// escalationTooLate cancels an escalation while it plans the next delivery.
func escalationTooLate() *race {
	return &race{
		ends: canceled,
		parts: map[string]part{"Escalate": func(ctx context.Context, c call) (any, error) {
			next := c.batch("1", notification.SMS)
			found := activities.EscalateResult{Outcome: notification.EscalationFollowed, Delivery: &next.Deliveries[0], Policy: next.Policies[notification.SMS]}
			return found, c.hold(ctx)
		}},
		run: func(r *race) (id, queue string, workflow, input any) {
			in := workflows.EscalateInput{EventID: r.id, EventType: "NEWS", DeliveryID: r.mail(), UserType: notification.Customer, UserID: "1",
				Escalation: notification.Escalation{From: notification.Email, To: notification.SMS, Until: notification.UntilRead}}
			return workflows.EscalationID(r.mail()), workflows.EventsQueue(r.name), workflows.Escalate, in
		},
		happens: func(r *race) {
			id := workflows.EscalationID(r.mail())
			r.awaitHold()
			r.cancel(id)
			r.sees(id, askedToStop)
			r.release()
		},
	}
}

// stretches plays NextDeliveries for a lane with a number of stretches of two deliveries, and after
// all are planned, with one more that was stored late.
func stretches(most int64) part {
	return func(_ context.Context, c call) (any, error) {
		in := c.input.(activities.NextInput)
		next := in.After/10 + 1
		if in.Pending && next == 1 || !in.Pending && next <= most {
			policy := c.policyOf(in.Lane.Channel)
			return activities.NextResult{IDRange: notification.IDRange{First: next * 10, Last: next*10 + 1}, Policy: &policy, Priority: notification.Normal}, nil
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
		later.Deliveries[0].SendAfter = time.Now().Add(time.Hour)
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
		plan := activities.PlanResult{EventType: "NEWS", Aggregate: notification.Entity{Type: "BROADCAST", ID: "0"}, Bulk: bulk, Lanes: lanes}
		if c.n == 1 {
			plan.Next = &notification.Cursor{Number: 1, UserID: "1", UserType: notification.Customer}
			return plan, nil
		}
		return plan, c.hold(ctx)
	}
}

var mailLane, laterLane = notification.Lane{Channel: notification.Email}, notification.Lane{Channel: notification.Email, Waiting: true}

// Lanes work while their event plans, and are cancelled.
func TestRacesOfLanes(t *testing.T) {
	t.Parallel()

	idle := func(r *race) {
		r.awaitHold()
		r.sees(workflows.LaneID(r.id, notification.Email), timerStarted, timerStarted)
	}
	failing := func(context.Context, call) (any, error) { return nil, unclear(time.Hour) }
	newStage(t).play(map[string]*race{
		"plannedLate": {run: event, ends: completed, happens: func(r *race) { idle(r); r.release() },
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane), "NextDeliveries": stretches(2), "ListDeliveries": lists}},
		"laneCancelled": {run: event, ends: completed,
			happens: func(r *race) {
				r.awaitHold()
				r.awaitRetry(r.mail())
				r.cancel(workflows.LaneID(r.id, notification.Email))
				r.sees(r.id, enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED)
				r.release()
			},
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane), "NextDeliveries": stretches(1), "ListDeliveries": lists, "Send": failing}},
		"waitingCancelled": {run: event, ends: canceled,
			happens: func(r *race) {
				r.awaitHold()
				r.sees(notification.DeliveryID(r.id, "customer", "3", notification.Email), timerStarted)
				r.cancel(r.id)
				r.sees(r.id, askedToStop)
				r.release()
			},
			parts: map[string]part{"PlanDeliveries": inLanes(false, mailLane, laterLane), "NextDeliveries": stretches(1), "ListDeliveries": lists, "Send": failing}},
		"batches": {run: event, ends: completed, happens: func(r *race) { idle(r); r.release() }, parts: map[string]part{
			"PlanDeliveries": inLanes(true, mailLane), "NextDeliveries": stretches(2), "ListDeliveries": lists,
			"SendBatch": sendsBatches, "ClaimFailed": claimsFailed,
		}},
		"batchCancelled": {run: event, ends: canceled, happens: func(r *race) { r.awaitHold(); r.cancel(r.id) }, parts: map[string]part{
			"PlanDeliveries": func(ctx context.Context, c call) (any, error) {
				plan, err := inLanes(true, mailLane)(ctx, call{race: c.race, n: 1})
				result := plan.(activities.PlanResult)
				result.Next = nil
				return result, err
			},
			"NextDeliveries": stretches(1), "SendBatch": untilCancelled,
		}},
	})
}

// sendsBatches plays SendBatch. The first execution ends early and leaves a result to record. The
// next one leaves deliveries to workflows of their own.
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
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
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
	info := must(r.temporal.DescribeWorkflowExecution(r.t.Context(), id, ""))(r.t).GetWorkflowExecutionInfo()
	return info.GetFirstRunId() != info.GetExecution().GetRunId()
}

// Workflows with a long history continue in another run.
func TestLongHistories(t *testing.T) {
	t.Parallel()

	newStage(t, suggest(15)).play(map[string]*race{
		"lane": {ends: continued, parts: map[string]part{"NextDeliveries": stretches(2), "ListDeliveries": lists},
			run: func(r *race) (id, queue string, workflow, input any) {
				in := workflows.ChannelInput{EventID: r.id, EventType: "NEWS", Aggregate: notification.Entity{Type: "BROADCAST", ID: "0"}, Lane: mailLane}
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
				return r.id + "-digest", in.Policy.TaskQueue, workflows.Digest, in
			},
			happens: func(r *race) {
				r.eventually(func() bool {
					r.signal(r.id+"-digest", workflows.DigestJoined, r.id+"-item")
					return r.runsAgain(r.id + "-digest")
				}, "the digest does not continue")
				r.signal(r.id+"-digest", workflows.SendNow, nil)
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
