package e2e_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	completed  = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	canceled   = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	continued  = enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	failed     = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	terminated = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED

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

// during does something while an activity is held.
func during(act func(r *race)) func(*race) {
	return func(r *race) {
		r.awaitHold()
		act(r)
		r.release()
	}
}

// An order or a cancellation comes while the provider has the message.
func TestRacesOfDeliveries(t *testing.T) {
	t.Parallel()

	cancel := func(r *race) { r.cancel(r.mail()) }
	move := func(r *race) { r.signal(r.mail(), workflows.Reschedule, time.Now().Add(time.Second)) }
	cancelUntilAsked := func(r *race) { r.cancel(r.mail()); r.sees(r.mail(), askedToStop) }
	hastenUntilAsked := func(r *race) { r.signal(r.mail(), workflows.SendNow, nil); r.sees(r.mail(), askedToStop) }
	refuses := map[string]part{"Send": held("Send", nil, refused())}
	sends := map[string]part{"Send": held("Send", sent, nil)}
	fails := map[string]part{"Send": held("Send", nil, unclear(time.Hour))}
	sendsFirst := map[string]part{"SendFirst": held("SendFirst", sent, nil), "GiveUp": wasSent}
	failsFirst := map[string]part{"SendFirst": held("SendFirst", nil, unclear(time.Hour))}
	newStage(t).play(map[string]*race{
		"cancelledInVain":       {run: deliver(false), parts: sends, happens: during(cancelUntilAsked), ends: completed},
		"cancelledFailing":      {run: deliver(false), parts: fails, happens: during(cancelUntilAsked), ends: canceled},
		"hastenedFailing":       {run: deliver(false), parts: fails, happens: during(hastenUntilAsked), ends: completed},
		"hastenedRefused":       {run: deliver(false), parts: refuses, happens: during(hastenUntilAsked), ends: failed},
		"firstCancelledInVain":  {run: deliver(true), parts: sendsFirst, happens: during(cancel), ends: completed},
		"firstCancelledFailing": {run: deliver(true), parts: failsFirst, happens: during(cancel), ends: canceled},
		"firstMovedInVain":      {run: deliver(true), parts: sendsFirst, happens: during(move), ends: completed},
		"firstMovedFailing":     {run: deliver(true), parts: failsFirst, happens: during(move), ends: completed},
		"notRecorded":           {run: deliver(true), parts: map[string]part{"SendFirst": sentUnrecorded}, ends: completed},
	})
}

var sent = activities.SendResult{Status: notification.Sent}

func wasSent(context.Context, call) (any, error) { return notification.Sent, nil }

// sentUnrecorded plays an attempt whose result the database does not store.
func sentUnrecorded(_ context.Context, c call) (any, error) {
	result := sent
	result.Unrecorded = &notification.AttemptResult{DeliveryID: c.mail(), Number: 1, Outcome: notification.OutcomeSent}
	return result, nil
}

// digestKey is the key of the digests on the stage.
var digestKey = notification.DigestKey{UserType: notification.Customer, UserID: "1", Channel: notification.Email, EventType: "NEWS"}

// digest runs a digest without the workflows of its items.
func digest(r *race) (id, queue string, workflow, input any) {
	in := workflows.DigestInput{Key: digestKey, Window: time.Second, Policy: r.policyOf(notification.Email)}
	return r.digestID(), in.Policy.TaskQueue, workflows.Digest, in
}

// sealed is a digest's list of items.
func sealed(items ...string) activities.SealResult {
	return activities.SealResult{SealedDigest: notification.SealedDigest{Items: items}}
}

// digestID is the id of the race's digest.
func (r *race) digestID() string { return r.id + "-digest" }

// An item joins, or an order comes, while the provider has the digest.
func TestRacesOfDigests(t *testing.T) {
	t.Parallel()

	join := func(r *race) { r.signal(r.digestID(), workflows.DigestJoined, "late"); r.sees(r.digestID(), signalled) }
	cancelUntilAsked := func(r *race) { r.cancel(r.digestID()); r.sees(r.digestID(), askedToStop) }
	hastenUntilAsked := func(r *race) { r.signal(r.digestID(), workflows.SendNow, nil); r.sees(r.digestID(), askedToStop) }
	cancelRetrying := func(r *race) { r.awaitRetry(r.digestID()); r.cancel(r.digestID()) }
	heldSend := held("SendDigest", activities.SendDigestResult{Items: 1}, nil)
	sends := map[string]part{"SendDigest": heldSend}
	sendsOnce := map[string]part{"SendDigest": heldSend, "SealDigest": sealsOnce}
	fails := map[string]part{"SendDigest": held("SendDigest", nil, unclear(time.Hour))}
	alwaysFails := map[string]part{"SendDigest": func(context.Context, call) (any, error) { return nil, unclear(time.Hour) }}
	newStage(t).play(map[string]*race{
		"joinedLate":          {run: digest, parts: sendsOnce, happens: during(join), ends: continued},
		"cancelledInVain":     {run: digest, parts: sends, happens: during(cancelUntilAsked), ends: completed},
		"hastenedFailing":     {run: digest, parts: fails, happens: during(hastenUntilAsked), ends: completed},
		"cancelledRetrying":   {run: digest, parts: alwaysFails, happens: cancelRetrying, ends: canceled},
		"notRecorded":         {run: digest, parts: map[string]part{"SendDigest": digestUnrecorded}, ends: completed},
		"itemCancelledInVain": itemCancelledInVain(heldSend),
	})
}

// sealsOnce plays SealDigest: later calls find no items.
func sealsOnce(_ context.Context, c call) (any, error) {
	if c.n > 1 {
		return sealed(), nil
	}
	return sealed(c.id + "-item"), nil
}

// digestUnrecorded plays an attempt whose result the database does not store.
func digestUnrecorded(_ context.Context, c call) (any, error) {
	unrecorded := &notification.AttemptResult{DigestID: c.id, Outcome: notification.OutcomeSent}
	return activities.SendDigestResult{Items: 1, Unrecorded: unrecorded}, nil
}

// itemCancelledInVain cancels a delivery while the provider has its digest. The delivery waits for
// the result.
func itemCancelledInVain(sends part) *race {
	return &race{
		ends: completed,
		parts: map[string]part{
			"Send": func(context.Context, call) (any, error) {
				return activities.SendResult{Status: notification.Pending, InDigest: true}, nil
			},
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
			in := workflows.DeliverInput{DeliveryID: r.mail(), Channel: notification.Email, Policy: r.policyOf(notification.Email)}
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
	in := workflows.NotifyInput{EventID: r.id, Source: notification.HeraldSource, Publish: true}
	return r.id, workflows.EventsQueue(r.name), workflows.NotifyEvent, in
}

// silentEvent runs an event without a message.
func silentEvent(r *race) (id, queue string, workflow, input any) {
	return r.id, workflows.EventsQueue(r.name), workflows.NotifyEvent, workflows.NotifyInput{EventID: r.id, Source: notification.HeraldSource}
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

// waitsFirst plays Send. The first call for the race's e-mail finds that it waits.
func waitsFirst() part {
	var first sync.Once
	return func(ctx context.Context, c call) (any, error) {
		waits := false
		if c.input.(activities.SendInput).DeliveryID == c.mail() {
			first.Do(func() { waits = true })
		}
		if waits {
			return inAnHour(), nil
		}
		return usual(ctx, "Send", c)
	}
}

// inAnHour is the answer of a delivery's row that waits for an hour.
func inAnHour() activities.SendResult {
	return activities.SendResult{Status: notification.Pending, NotBefore: time.Now().Add(time.Hour).UTC(), Wait: "in an hour"}
}

// holdMail starts a workflow with the id of the event's e-mail, on the queue of a channel. The e-mail
// waits: see waitsFirst.
func holdMail(channel notification.Channel) func(*race) {
	return func(r *race) {
		in := workflows.DeliverInput{DeliveryID: r.mail(), Channel: channel, Policy: r.policyOf(channel)}
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
		"idHeld": {before: holdMail(notification.Email), run: event, parts: map[string]part{"PlanDeliveries": plans, "Send": waitsFirst()},
			ends: completed,
			happens: func(r *race) {
				r.sees(r.id, enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
				require.NoError(r.t, r.temporal.TerminateWorkflow(r.t.Context(), r.mail(), "", "it is in the way"))
			}},
		"nobodyApproves": {run: silentEvent, ends: completed, parts: map[string]part{
			"PlanDeliveries": func(context.Context, call) (any, error) {
				askedAt := time.Now().Add(time.Second - notification.ApprovalWait)
				return activities.PlanResult{Outcome: notification.AwaitingApproval, Problem: "many people", AskedAt: askedAt}, nil
			},
			"AnswerApproval": func(context.Context, call) (any, error) { return notification.Rejected, nil },
		}},
		"idTaken": {before: holdMail(notification.SMS), run: event,
			parts: map[string]part{"PlanDeliveries": plans, "Send": waitsFirst()}, ends: completed},
		"escalationTooLate": escalationTooLate(true),
		"escalationLost":    escalationTooLate(false),
	})
}

// escalationTooLate cancels an escalation while it plans the next delivery. The workflow gets the
// result of the planning, or a failure.
func escalationTooLate(gets bool) *race {
	return &race{
		ends: canceled,
		parts: map[string]part{"Escalate": func(ctx context.Context, c call) (any, error) {
			if !gets {
				return nil, cmp.Or(c.hold(ctx), errors.New("its worker died"))
			}
			next := c.batch("1", notification.SMS)
			found := activities.EscalateResult{Outcome: notification.EscalationFollowed}
			found.Delivery, found.Policy = &next.Deliveries[0], next.Policies[notification.SMS]
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
