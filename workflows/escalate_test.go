package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

const pushID, textID = "evt-1-customer7-PUSH", "evt-1-customer7-SMS"

// push is a push message to customer 7. If it is not read within five minutes, an SMS follows.
func push() notification.Delivery {
	return notification.Delivery{
		DeliveryID: pushID, Channel: notification.Push, UserType: notification.Customer, UserID: "7", Priority: notification.High,
		Escalation: &notification.Escalation{
			From: notification.Push, To: notification.SMS, After: 5 * time.Minute, Until: notification.UntilRead,
		},
	}
}

// text is the SMS that follows push.
func text() *notification.Delivery {
	return &notification.Delivery{
		DeliveryID: textID, Channel: notification.SMS, UserType: notification.Customer, UserID: "7", Priority: notification.High,
	}
}

func escalateInput() workflows.EscalateInput {
	d := push()
	return workflows.EscalateInput{
		EventID: eventID, EventType: "RESERVATION_REQUESTED", Aggregate: aggregate,
		DeliveryID: d.DeliveryID, UserType: d.UserType, UserID: d.UserID, Escalation: *d.Escalation,
	}
}

// look is the result of one call of Escalate, and its time.
type look struct {
	at    time.Duration
	found activities.EscalateResult
}

// escalates runs an escalation. Its calls of Escalate return the looks in turn. It returns the
// times of the calls.
func (e *environment) escalates(in workflows.EscalateInput, looks []look) (at []time.Duration) {
	start := e.Now()
	want := activities.EscalateInput{
		EventID: in.EventID, DeliveryID: in.DeliveryID, UserType: in.UserType, UserID: in.UserID, Escalation: in.Escalation, Since: start.UTC(),
	}
	e.OnActivity(acts.Escalate, mock.Anything,
		want).Return(func(context.Context, activities.EscalateInput) (activities.EscalateResult, error) {
		at = append(at, e.Now().Sub(start))
		found := looks[len(at)-1].found
		if found.Wait != "" {
			found.Until = start.Add(looks[len(at)].at).UTC() // the time of the next look
		}
		return found, nil
	}).Times(len(looks))
	e.ExecuteWorkflow(workflows.Escalate, in)
	return at
}

func TestEscalate(t *testing.T) {
	t.Parallel()

	follows := activities.EscalateResult{Outcome: notification.EscalationFollowed, Delivery: text(), Policy: policy(notification.SMS)}
	waits := activities.EscalateResult{Wait: "a while"}
	read := activities.EscalateResult{Outcome: notification.EscalationRead}
	dropped := activities.EscalateResult{Outcome: notification.EscalationDropped, Reason: "USER_DISABLED"}
	followed := workflows.EscalateResult{Outcome: notification.EscalationFollowed, Follower: textID}

	tests := []struct {
		name    string
		signals []time.Duration
		looks   []look
		want    workflows.EscalateResult
	}{
		{name: "not read in time", looks: []look{{5 * time.Minute, follows}}, want: followed},
		{name: "failed at once", signals: []time.Duration{time.Second}, looks: []look{{time.Second, follows}}, want: followed},
		{name: "sent, not read", signals: []time.Duration{time.Second}, looks: []look{{time.Second, waits}, {5 * time.Minute, follows}},
			want: followed},
		{name: "sent and read", signals: []time.Duration{time.Second, time.Minute}, looks: []look{{time.Second, waits}, {time.Minute, read}},
			want: workflows.EscalateResult{Outcome: notification.EscalationRead}},
		{name: "several signals at once", signals: []time.Duration{time.Second, time.Second, time.Second},
			looks: []look{{time.Second, waits}, {time.Second, waits}, {5 * time.Minute, read}},
			want:  workflows.EscalateResult{Outcome: notification.EscalationRead}},
		{name: "rescheduled", looks: []look{{5 * time.Minute, waits}, {72 * time.Hour, follows}}, want: followed},
		{name: "quiet until the morning", looks: []look{{5 * time.Minute, waits}, {9 * time.Hour, dropped}},
			want: workflows.EscalateResult{Outcome: notification.EscalationDropped, Reason: "USER_DISABLED"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env := escalateInput(), newEnv(t)
			env.deliveries.end = takes[workflows.DeliverInput](time.Second)
			for _, at := range tt.signals {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.Settled, nil) }, at)
			}

			at := env.escalates(in, tt.looks)

			require.Equal(t, tt.want, resultOf[workflows.EscalateResult](t, env))
			for i, look := range tt.looks {
				require.Equal(t, look.at, at[i])
			}
			if tt.want.Follower != "" {
				require.Equal(t,
					[]workflows.DeliverInput{{DeliveryID: textID, Channel: notification.SMS, Policy: policy(notification.SMS), HoldsSlot: true}},
					env.deliveries.started)
				require.Equal(t, []string{"herald-sms"}, env.deliveries.queues)
			} else {
				require.Empty(t, env.deliveries.started)
			}
		})
	}
}

// An escalation waits between two calls of Escalate, even if the database's clock is behind
// Temporal's.
func TestEscalateWithASlowDatabaseClock(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	at := env.escalates(escalateInput(), []look{
		{found: activities.EscalateResult{Wait: "it is not time yet"}},
		{at: 5*time.Minute - time.Second, found: activities.EscalateResult{Outcome: notification.EscalationRead}},
	})

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []time.Duration{5 * time.Minute, 5*time.Minute + time.Second}, at)
}

// A delivery that follows may have an escalation, too. It runs concurrently.
func TestEscalateChains(t *testing.T) {
	t.Parallel()

	next := notification.Escalation{From: notification.SMS, To: notification.Email, After: time.Hour, Until: notification.UntilDelivered}
	follower := text()
	follower.Escalation = &next
	env := newEnv(t)
	env.OnActivity(acts.Escalate, mock.Anything, mock.MatchedBy(func(in activities.EscalateInput) bool { return in.DeliveryID == textID })).
		Return(activities.EscalateResult{Outcome: notification.EscalationDelivered}, nil).Once()

	env.OnActivity(acts.Escalate, mock.Anything, mock.MatchedBy(func(in activities.EscalateInput) bool { return in.DeliveryID == pushID })).
		Return(activities.EscalateResult{Outcome: notification.EscalationFollowed, Delivery: follower, Policy: policy(notification.SMS)},
			nil).Once()
	env.ExecuteWorkflow(workflows.Escalate, escalateInput())

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{textID}, env.deliveries.ids)
}

// The recorded histories cover a cancellation while the next delivery is planned, because this
// environment does not wait for the activity.
func TestEscalateCancelled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.Escalate, escalateInput())

	env.requireStopped(t)
	require.Empty(t, env.deliveries.started)
}

// If the worker died while it planned the next delivery, the cancelled escalation does not know whether
// a delivery is stored. It cancels that delivery, because nothing else does.
func TestEscalateCancelledWithoutAResult(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.Escalate, mock.Anything, mock.Anything).Return(activities.EscalateResult{}, panicky.err).Once().Run(func(
		mock.Arguments,
	) {
		env.CancelWorkflow()
	})
	env.OnActivity(acts.CancelFollower, mock.Anything, activities.CancelFollowerInput{DeliveryID: pushID}).Return(nil).Once()

	env.ExecuteWorkflow(workflows.Escalate, escalateInput())

	env.requireStopped(t)
	require.Empty(t, env.deliveries.started)
}

// escalatingPlan is the plan of an event with one delivery, which escalates.
func escalatingPlan() activities.PlanResult {
	return onlyPage(activities.DeliveryBatch{
		Deliveries: []notification.Delivery{push()},
		Policies:   map[notification.Channel]activities.DeliveryPolicy{notification.Push: policy(notification.Push)},
	})
}

// An event waits for a delivery and its escalation, and signals the escalation when the delivery
// has ended. A delivery without an escalation starts none.
func TestNotifyEventEscalates(t *testing.T) {
	t.Parallel()

	var told time.Duration
	env := newEnv(t)
	start := env.Now()
	env.deliveries.end = takes[workflows.DeliverInput](time.Minute)
	env.escalations.end = func(ctx workflow.Context, _ workflows.EscalateInput) error {
		workflow.GetSignalChannel(ctx, workflows.Settled).Receive(ctx, nil)
		told = workflow.Now(ctx).Sub(start)
		return workflow.Sleep(ctx, time.Hour)
	}
	plan := escalatingPlan()
	plain := batch(1)
	plan.Batch.Deliveries = append(plan.Batch.Deliveries, plain.Deliveries...)
	plan.Batch.Policies[notification.Email] = plain.Policies[notification.Email]
	env.plans(notification.Cursor{}, plan)
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, []workflows.EscalateInput{escalateInput()}, env.escalations.started)
	require.Equal(t, []string{workflows.EscalationID(pushID)}, env.escalations.ids)
	require.Equal(t, map[string]string{
		"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldRecipient": "CUSTOMER/7", "HeraldChannel": "PUSH",
	}, env.escalations.found[0])
	require.Equal(t, time.Minute, told)
	require.GreaterOrEqual(t, env.Now().Sub(start), time.Hour)
}

// An escalation that ends first delays nothing, and gets no signal.
func TestNotifyEventAfterAnEscalationThatEndsFirst(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	env.plans(notification.Cursor{}, escalatingPlan())
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
}
