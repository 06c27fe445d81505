package workflows_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

const eventID = "evt-1"

var (
	aggregate = notification.Entity{Type: "RESTAURANT", ID: "5"}
	counts    = notification.Counts{
		Deliveries: map[notification.Status]int{notification.Sent: 2, notification.Failed: 1},
		Decisions:  map[notification.Decision]int{notification.DecisionSelected: 3},
	}
)

// children stands in for a type of child workflow, and keeps count of them.
type children[Input any] struct {
	end       func(ctx workflow.Context, in Input) error // how one ends; nil: at once, and well
	started   []Input
	ids       []string
	queues    []string
	found     []map[string]string // by which search attributes each can be found
	open      int
	mostOpen  int
	cancelled int
}

func (c *children[Input]) run(ctx workflow.Context, in Input) error {
	info := workflow.GetInfo(ctx)
	c.started, c.ids, c.queues = append(c.started, in), append(c.ids, info.WorkflowExecution.ID), append(c.queues, info.TaskQueueName)
	c.found = append(c.found, keywords(workflow.GetTypedSearchAttributes(ctx)))
	c.open++
	c.mostOpen = max(c.mostOpen, c.open)
	defer func() { c.open-- }()
	if c.end == nil {
		return nil
	}
	err := c.end(ctx, in)
	if temporal.IsCanceledError(err) {
		c.cancelled++
	}
	return err
}

func keywords(attributes temporal.SearchAttributes) map[string]string {
	values := map[string]string{}
	for _, name := range workflows.SearchAttributes() {
		if value, ok := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); ok {
			values[name] = value
		}
	}
	return values
}

// takes is an end that comes after a while.
func takes[Input any](d time.Duration) func(workflow.Context, Input) error {
	return func(ctx workflow.Context, _ Input) error { return workflow.Sleep(ctx, d) }
}

// plans expects the planning of the pages behind after: the first alone.
func (e *environment) plans(after notification.Cursor, planned activities.PlanResult) {
	in := activities.PlanInput{EventID: eventID, Source: "orders", After: after, Pages: 1}
	if after.UserID != "" {
		in.Pages = 100
	}
	planned.EventType, planned.Aggregate = "RESERVATION_REQUESTED", aggregate
	e.OnActivity(acts.PlanDeliveries, mock.Anything, in).Return(planned, nil).Once()
}

// finishes expects the end of the event; an empty outcome: all went its way.
func (e *environment) finishes(outcome notification.EventOutcome) {
	e.finishesWith(outcome, outcome, "")
}

// finishesWith expects the end of an event of whose outcome the tables know better.
func (e *environment) finishesWith(told, found notification.EventOutcome, problem string) {
	ended := counts
	ended.Outcome = found
	in := activities.FinishEventInput{EventID: eventID, Success: told != notification.EventCancelled && told != notification.EventFailed, Outcome: told, Problem: problem}
	e.OnActivity(acts.FinishEvent, mock.Anything, in).Return(ended, nil).Once()
}

// requireNotified checks the result of an event that completed.
func (e *environment) requireNotified(t *testing.T, want workflows.NotifyResult) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	var got workflows.NotifyResult
	require.NoError(t, e.GetWorkflowResult(&got))
	want.Deliveries, want.Decisions = counts.Deliveries, counts.Decisions
	require.Equal(t, want, got)
	e.requireOutcome(t, string(want.Outcome))
}

// batch is n deliveries by e-mail, to staff 1 to n.
func batch(n int) activities.DeliveryBatch {
	b := activities.DeliveryBatch{Policies: map[notification.Channel]activities.DeliveryPolicy{notification.Email: policy(notification.Email)}}
	for i := range n {
		user := strconv.Itoa(i + 1)
		b.Deliveries = append(b.Deliveries, notification.Delivery{
			DeliveryID: notification.DeliveryID(eventID, "staff", user, notification.Email),
			Channel:    notification.Email, UserType: notification.RestaurantUser, UserID: user, Priority: notification.Normal,
		})
	}
	return b
}

// inputs are what the deliveries of a batch are told, in their order.
func inputs(b activities.DeliveryBatch) []workflows.DeliverInput {
	var all []workflows.DeliverInput
	for _, d := range b.Deliveries {
		all = append(all, workflows.DeliverInput{DeliveryID: d.DeliveryID, Channel: d.Channel, SendAfter: d.SendAfter, Wait: d.Wait, Digest: d.Digest, Policy: b.Policies[d.Channel]})
	}
	return all
}

// waiting is a batch that is to be sent later.
func waiting(b activities.DeliveryBatch) activities.DeliveryBatch {
	for i := range b.Deliveries {
		b.Deliveries[i].SendAfter = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	}
	return b
}

// onlyPage is the plan of an event with few recipients.
func onlyPage(b activities.DeliveryBatch) activities.PlanResult {
	return activities.PlanResult{Batch: b}
}

// stored is where the deliveries of the n-th page are, which counts from 1.
func stored(n int) notification.IDRange {
	return notification.IDRange{First: int64(n*100 - 99), Last: int64(n * 100)}
}

// cursor is the place behind the n-th page; none for n = 0.
func cursor(n int) notification.Cursor {
	if n == 0 {
		return notification.Cursor{}
	}
	return notification.Cursor{Rank: 1, Number: int64(n * 100), UserID: strconv.Itoa(n * 100), UserType: notification.RestaurantUser, Used: notification.Used{"RESTAURANT/5 EMAIL": n}}
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// takesRegardless is an end that no cancellation brings nearer.
func takesRegardless(d time.Duration) func(workflow.Context, workflows.DeliverInput) error {
	return func(ctx workflow.Context, _ workflows.DeliverInput) error {
		ctx, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		return workflow.Sleep(ctx, d)
	}
}
