package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var notifyInput = workflows.NotifyInput{EventID: eventID, Source: "orders"}

// firstPage asks for the planning of the first page.
var firstPage = activities.PlanInput{EventID: eventID, Source: "orders", Pages: 1}

// While the database is out of reach, an event waits and loses nothing.
func TestNotifyEvent(t *testing.T) {
	t.Parallel()

	later := batch(1)
	later.Deliveries[0].Later = true
	unrouted := activities.PlanResult{
		Outcome: notification.NoRouting, Problem: "event type RESERVATION_REQUESTED has no rows in event_type_channel_routing",
	}
	nobody := activities.PlanResult{Outcome: notification.NoRecipients, Problem: "restaurantId is not in the payload"}
	some := onlyPage(batch(1))
	some.Problem = "agencyId is not in the payload"

	taken := activities.PlanResult{Outcome: notification.EventCancelled, Problem: "cancelled by event evt-2"}

	tests := []struct {
		name    string
		outages int
		plan    activities.PlanResult
		want    workflows.NotifyResult
	}{
		{name: "one delivery", plan: onlyPage(batch(1)), want: workflows.NotifyResult{}},
		{name: "several deliveries", plan: onlyPage(batch(7)), want: workflows.NotifyResult{}},
		{name: "a delivery that waits", plan: onlyPage(later), want: workflows.NotifyResult{}},
		{name: "after an outage", outages: 6, plan: onlyPage(batch(2)), want: workflows.NotifyResult{}},
		{name: "cancelled by another event", plan: taken,
			want: workflows.NotifyResult{Outcome: notification.EventCancelled, Problem: taken.Problem}},
		{name: "few recipients, many rows of an earlier planning", plan: inLanes(1, 1, mails),
			want: workflows.NotifyResult{Outcome: notification.Incomplete}},
		{name: "nothing selected", plan: activities.PlanResult{}, want: workflows.NotifyResult{}},
		{name: "no recipients", plan: nobody, want: workflows.NotifyResult{Outcome: notification.NoRecipients, Problem: nobody.Problem}},
		{name: "no routing", plan: unrouted, want: workflows.NotifyResult{Outcome: notification.NoRouting, Problem: unrouted.Problem}},
		{name: "a rule that found nobody", plan: some, want: workflows.NotifyResult{Outcome: notification.EventProblem, Problem: some.Problem}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			if tt.outages > 0 {
				env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(activities.PlanResult{}, panicky.err).Times(tt.outages)
				env.OnActivity(acts.FinishEvent, mock.Anything,
					activities.FinishEventInput{EventID: eventID, Success: true}).Return(notification.Counts{},
					panicky.err).Times(tt.outages)
			}
			env.plans(notification.Cursor{}, tt.plan)
			env.finishesWith(tt.plan.Outcome, tt.want.Outcome, tt.want.Problem)

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

			env.requireNotified(t, tt.want)
			require.ElementsMatch(t, inputs(tt.plan.Batch), env.deliveries.started)
			require.Len(t, env.lanes.started, len(tt.plan.Lanes))
		})
	}
}

// A child has the delivery's id, and runs on its channel's queue, where only a worker of that
// channel takes it. It has search attributes.
func TestNotifyEventNamesItsChildren(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	several := batch(1)
	several.Policies[notification.SMS] = policy(notification.SMS)
	several.Deliveries = append(several.Deliveries,
		notification.Delivery{DeliveryID: "evt-1-customer7-SMS", Channel: notification.SMS, UserType: notification.Customer, UserID: "7"})
	env.plans(notification.Cursor{}, onlyPage(several))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"evt-1-customer7-SMS", "evt-1-staff1-EMAIL"}, sorted(env.deliveries.ids))
	require.Equal(t, []string{"herald-email", "herald-sms"}, sorted(env.deliveries.queues))
	require.ElementsMatch(t, []map[string]string{
		{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldRecipient": "RESTAURANT_USER/1",
			"HeraldChannel": "EMAIL"},
		{"HeraldEventType": "RESERVATION_REQUESTED", "HeraldAggregate": "RESTAURANT/5", "HeraldRecipient": "CUSTOMER/7", "HeraldChannel": "SMS"},
	}, env.deliveries.found)
}

func TestNotifyEventPublishesConcurrently(t *testing.T) {
	t.Parallel()

	var publishedAt, deliveredAt time.Duration
	in, env := notifyInput, newEnv(t)
	in.Publish = true
	start := env.Now()
	env.deliveries.end = func(ctx workflow.Context, _ workflows.DeliverInput) error {
		deliveredAt = workflow.Now(ctx).Sub(start)
		return nil
	}
	attempts := 0
	env.OnActivity(acts.PublishEvent, mock.Anything,
		activities.PublishEventInput{EventID: eventID}).Return(func(
		context.Context, activities.PublishEventInput,
	) (activities.PublishEventResult, error) {
		if attempts++; attempts < 8 {
			return activities.PublishEventResult{}, errors.New("rabbitmq gave no clear answer")
		}
		publishedAt = env.Now().Sub(start)
		return activities.PublishEventResult{}, nil
	})
	env.plans(notification.Cursor{}, onlyPage(batch(3)))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, in)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Zero(t, deliveredAt)
	require.Equal(t, (1+2+4+8+16+30)*time.Second, publishedAt, "the first attempt is a local activity, and the second attempt follows at once")
}

func TestNotifyEventThatCannotBePlannedOrPublished(t *testing.T) {
	t.Parallel()

	gone := temporal.NewNonRetryableApplicationError("no such event in event_outbox", activities.NoSuchRow, nil)
	tests := []struct {
		name             string
		plan, publishing error
	}{
		{name: "not planned, not published", plan: gone, publishing: gone},
		{name: "not planned", plan: gone},
		{name: "not published", publishing: gone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			in, env := notifyInput, newEnv(t)
			in.Publish = true
			env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(activities.PlanResult{}, tt.plan).Once()
			env.OnActivity(acts.PublishEvent, mock.Anything, activities.PublishEventInput{EventID: eventID}).Return(activities.PublishEventResult{},
				tt.publishing).Once()
			env.finishes("FAILED")

			env.ExecuteWorkflow(workflows.NotifyEvent, in)

			env.requireFailure(t, activities.NoSuchRow)
			env.requireOutcome(t, "FAILED")
		})
	}
}

// A delivery that fails or ran before does not fail the other deliveries or the event.
func TestNotifyEventWithChildrenThatFail(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.deliveries.end = func(_ workflow.Context, in workflows.DeliverInput) error {
		if in.DeliveryID == "evt-1-staff2-EMAIL" {
			return temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed)
		}
		return nil
	}
	twice := batch(3)
	twice.Deliveries = append(twice.Deliveries, twice.Deliveries[2]) // its workflow ID is in use
	env.plans(notification.Cursor{}, onlyPage(twice))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

	env.requireNotified(t, workflows.NotifyResult{})
	require.ElementsMatch(t, inputs(batch(3)), env.deliveries.started)
}

// A successful event ends by a local activity. A normal activity records an end that may overwrite
// another end.
func TestNotifyEventRecordsItsEnd(t *testing.T) {
	t.Parallel()

	const local, own = "local", "separate"
	gone := temporal.NewNonRetryableApplicationError("no such event in event_outbox", activities.NoSuchRow, nil)
	tests := []struct {
		name    string
		err     error // the error of planning
		cancel  bool
		fails   bool // the local activity fails
		success bool
		want    []string
	}{
		{name: "success", success: true, want: []string{local}},
		{name: "success, but another end is recorded", fails: true, success: true, want: []string{local, own}},
		{name: "failure", err: gone, want: []string{own}},
		{name: "cancelled", cancel: true, want: []string{own}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.OnActivity(acts.PlanDeliveries, mock.Anything, firstPage).Return(activities.PlanResult{}, tt.err).Once().Run(func(mock.Arguments) {
				if tt.cancel {
					env.CancelWorkflow()
				}
			})
			var got []string
			env.OnActivity(acts.FinishEvent, mock.Anything,
				mock.Anything).Return(func(ctx context.Context, end activities.FinishEventInput) (notification.Counts, error) {
				require.Equal(t, tt.success, end.Success)
				if !activity.GetInfo(ctx).IsLocalActivity {
					got = append(got, own)
					return counts, nil
				}
				got = append(got, local)
				if tt.fails {
					return notification.Counts{}, notification.ErrEnded
				}
				return counts, nil
			})

			env.ExecuteWorkflow(workflows.NotifyEvent, notifyInput)

			require.True(t, env.IsWorkflowCompleted())
			require.Equal(t, tt.success, env.GetWorkflowError() == nil)
			require.Equal(t, tt.want, got)
		})
	}
}
