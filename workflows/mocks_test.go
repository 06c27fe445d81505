package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
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

// children replaces a type of child workflow, and counts the children.
type children[Input any] struct {
	end       func(ctx workflow.Context, in Input) error // runs as one child; nil: the child completes at once
	started   []Input
	ids       []string
	queues    []string
	found     []map[string]string // the search attributes of each child
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

// takes returns an end for children that take d.
func takes[Input any](d time.Duration) func(workflow.Context, Input) error {
	return func(ctx workflow.Context, _ Input) error { return workflow.Sleep(ctx, d) }
}

// plans expects that one activity plans the pages after a cursor.
func (e *environment) plans(after notification.Cursor, planned activities.PlanResult) {
	in := activities.PlanInput{EventID: eventID, Source: "orders", After: after, Pages: 1}
	if after.UserID != "" {
		in.Pages = 100
	}
	planned.EventType, planned.Aggregate = "RESERVATION_REQUESTED", aggregate
	e.OnActivity(acts.PlanDeliveries, mock.Anything, in).Return(planned, nil).Once()
}

// finishes expects the end of the event; an empty outcome: no problem.
func (e *environment) finishes(outcome notification.EventOutcome) {
	e.finishesWith(outcome, outcome, "")
}

// finishesWith expects the end of an event, with an outcome from the tables.
func (e *environment) finishesWith(told, found notification.EventOutcome, problem string) {
	ended := counts
	ended.Outcome = found
	in := activities.FinishEventInput{
		EventID: eventID, Success: told != notification.EventCancelled && told != notification.EventFailed, Outcome: told, Problem: problem,
	}
	e.OnActivity(acts.FinishEvent, mock.Anything, in).Return(ended, nil).Once()
}

// requireNotified checks the result of an event that completed.
func (e *environment) requireNotified(t *testing.T, want workflows.NotifyResult) {
	t.Helper()
	want.Deliveries, want.Decisions = counts.Deliveries, counts.Decisions
	require.Equal(t, want, resultOf[workflows.NotifyResult](t, e))
	e.requireOutcome(t, string(want.Outcome))
}

// batch returns n deliveries by e-mail, to staff 1 to n.
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

// inputs returns the inputs of a batch's deliveries, in their order.
func inputs(b activities.DeliveryBatch) []workflows.DeliverInput {
	var all []workflows.DeliverInput
	for _, d := range b.Deliveries {
		all = append(all,
			workflows.DeliverInput{DeliveryID: d.DeliveryID, Channel: d.Channel, Policy: b.Policies[d.Channel], HoldsSlot: !d.Waits()})
	}
	return all
}

// waiting returns the batch with a later time to send.
func waiting(b activities.DeliveryBatch) activities.DeliveryBatch {
	for i := range b.Deliveries {
		b.Deliveries[i].Later = true
	}
	return b
}

// onlyPage returns the plan of an event with few recipients.
func onlyPage(b activities.DeliveryBatch) activities.PlanResult {
	return activities.PlanResult{Batch: b}
}

// stored returns the ids of the n-th page's deliveries; n counts from 1.
func stored(n int) notification.IDRange {
	return notification.IDRange{First: int64(n*100 - 99), Last: int64(n * 100)}
}

// cursor returns the cursor after the n-th page; the zero value for n = 0.
func cursor(n int) notification.Cursor {
	if n == 0 {
		return notification.Cursor{}
	}
	return notification.Cursor{Rank: 1, Number: int64(n * 100), UserID: strconv.Itoa(n * 100), UserType: notification.RestaurantUser}
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// sends expects exactly one call of Send per answer.
func (e *environment) sends(in activities.SendInput, answers ...answer) {
	for _, a := range answers {
		e.OnActivity(acts.Send, mock.Anything, in).Return(a.result, a.err).Once()
	}
}

// givesUp expects a call of GiveUp.
func (e *environment) givesUp(channel notification.Channel, status notification.Status, why string) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.GiveUp, mock.Anything,
		activities.GiveUpInput{DeliveryID: deliveryID, Channel: channel, Status: status, Reason: why})
}

// cancels expects the record of a cancelled delivery's end, and answers with a status.
func (e *environment) cancels(found notification.Status) {
	e.givesUp(notification.Email, notification.Cancelled, string(notification.CancelledInTemporal)).Return(found, nil).Once()
}

// requireCancelledAs checks that a cancelled delivery ended with the status of its row.
func (e *environment) requireCancelledAs(t *testing.T, status notification.Status) {
	t.Helper()
	if status == notification.Cancelled {
		e.requireCancelled(t)
	} else {
		e.requireDelivered(t, result(status, ""))
	}
}

// requireEnd checks the end of a delivery: a failure of this type, or a result.
func (e *environment) requireEnd(t *testing.T, failure string, want workflows.DeliverResult) {
	t.Helper()
	if failure == "" {
		e.requireDelivered(t, want)
		return
	}
	e.requireFailure(t, failure)
	require.ErrorContains(t, e.GetWorkflowError(), want.Reason)
	e.requireOutcome(t, outcome(want.Status))
}

// requireDelivered checks the result of a delivery that completed, and its outcome.
func (e *environment) requireDelivered(t *testing.T, want workflows.DeliverResult) {
	t.Helper()
	require.Equal(t, want, resultOf[workflows.DeliverResult](t, e))
	e.requireOutcome(t, outcome(want.Status))
}

// outcome returns the HeraldOutcome of a status.
func outcome(status notification.Status) string {
	if status == notification.Failed || status == notification.Cancelled {
		return string(status)
	}
	return ""
}

// The signals between a digest and its items, as histories name them.
const (
	join        = "join"
	digestEnded = "digest-ended"
)

const (
	window   = 5 * time.Minute
	digestID = "digest-" // in the test environment the original run's id is empty
)

var digestKey = notification.DigestKey{
	UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED",
}

// errGone is the error of a signal to a workflow that does not run.
var errGone = errors.New("unknown external workflow execution")

func digestInput() workflows.DigestInput {
	return workflows.DigestInput{Key: digestKey, Window: window, Policy: policy(notification.Email)}
}

// items returns the delivery ids of n events.
func items(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = notification.DeliveryID("evt-"+strconv.Itoa(i+1), "staff", digestKey.UserID, digestKey.Channel)
	}
	return ids
}

// sealed returns a digest's list of n items; no items remain.
func sealed(n int) activities.SealResult {
	return activities.SealResult{SealedDigest: notification.SealedDigest{Items: items(n)}}
}

// joins signals items to the digest, some time after its start.
func (e *environment) joins(at time.Duration, ids ...string) {
	e.RegisterDelayedCallback(func() { e.tellsJoined(ids...) }, at)
}

func (e *environment) tellsJoined(ids ...string) {
	for _, id := range ids {
		e.SignalWorkflow(join, id)
	}
}

// signals sends a signal, some time after the start.
func (e *environment) signals(at time.Duration, name string, argument any) {
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(name, argument) }, at)
}

// seals answers the calls of SealDigest in turn. It records their times, and whether they check
// quiet hours.
func (e *environment) seals(answers ...activities.SealResult) *sendCalls {
	calls, start := &sendCalls{}, e.Now()
	input := mock.MatchedBy(func(in activities.SealInput) bool {
		return in.DigestID == digestID && in.Key == digestKey && in.Window == window
	})
	e.OnActivity(acts.SealDigest, mock.Anything,
		input).Return(func(_ context.Context, in activities.SealInput) (activities.SealResult, error) {
		calls.at, calls.judged = append(calls.at, e.Now().Sub(start)), append(calls.judged, in.JudgeQuiet)
		return answers[len(calls.at)-1], nil
	}).Times(len(answers))
	return calls
}

// digestAnswer is the result of one call of SendDigest.
type digestAnswer struct {
	result activities.SendDigestResult
	err    error
}

func listed(n int) digestAnswer {
	return digestAnswer{result: activities.SendDigestResult{Items: n}}
}

// sendsDigest answers the calls of SendDigest in turn, and records their times.
func (e *environment) sendsDigest(answers ...digestAnswer) *sendCalls {
	calls, start := &sendCalls{}, e.Now()
	if len(answers) == 0 {
		return calls
	}
	input := activities.SendDigestInput{DigestID: digestID, Key: digestKey, AttemptPolicy: policy(notification.Email).AttemptPolicy}
	ours := mock.MatchedBy(func(in activities.SendDigestInput) bool {
		in.SkipQuiet = false
		return in == input
	})
	e.OnActivity(acts.SendDigest, mock.Anything,
		ours).Return(func(_ context.Context, in activities.SendDigestInput) (activities.SendDigestResult, error) {
		calls.at, calls.judged = append(calls.at, e.Now().Sub(start)), append(calls.judged, !in.SkipQuiet)
		now := answers[len(calls.at)-1]
		return now.result, now.err
	}).Times(len(answers))
	return calls
}

// tells expects that each item gets the signal with the digest's end.
func (e *environment) tells(ended workflows.DigestEnded, ids ...string) {
	for _, id := range ids {
		e.OnSignalExternalWorkflow(mock.Anything, id, "", digestEnded, ended).Return(nil).Once()
	}
}

// givesUpDigest expects that the end of the sealed items is recorded.
func (e *environment) givesUpDigest(status notification.Status, reason string) {
	input := activities.GiveUpDigestInput{DigestID: digestID, Channel: digestKey.Channel, Status: status, Reason: reason}
	e.OnActivity(acts.GiveUpDigest, mock.Anything, input).Return(activities.GiveUpDigestResult{}, nil).Once()
}

// requireDigest checks the result of a digest that completed.
func (e *environment) requireDigest(t *testing.T, want workflows.DigestResult) {
	t.Helper()
	require.Equal(t, want, resultOf[workflows.DigestResult](t, e))
	e.requireOutcome(t, outcome(want.Status))
}

// requireNext checks the input of a digest's next run.
func (e *environment) requireNext(t *testing.T, want workflows.DigestInput) {
	t.Helper()
	got := nextRun[workflows.DigestInput](t, e, digestWorkflow)
	require.True(t, want.Until.Equal(got.Until), "until %s, not %s", got.Until, want.Until)
	got.Until = want.Until
	require.Equal(t, want, got)
	e.requireOutcome(t, "")
}
