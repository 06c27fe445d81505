package activities_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// cancelling is a database with waiting deliveries, and a Temporal that may fail.
type cancelling struct {
	activities.LaneStore
	foreign    bool // the event may not cancel the other one
	waiting    int
	reason     string
	statements int
	from       []int64  // the first ids of the calls for a part
	asked      []string // the workflows that were asked to end
	err        error    // of Temporal
}

func (c *cancelling) MayCancel(_ context.Context, _, _ string) (bool, error) { return !c.foreign, nil }

func (c *cancelling) Lanes(context.Context, string) ([]notification.Lane, error) {
	return []notification.Lane{{Channel: notification.Email}}, nil
}

func (c *cancelling) CancelPart(
	_ context.Context, part notification.Part, reason notification.EndReason, limit int,
) (cancelled int, next int64, err error) {
	c.from = append(c.from, part.IDs.First)
	cancelled = min(c.waiting, limit)
	c.waiting -= cancelled
	c.reason = string(reason)
	c.statements++
	if cancelled == limit {
		next = part.IDs.First + int64(limit)
	}
	return cancelled, next, nil
}

func (c *cancelling) EventCounts(context.Context, string) (map[notification.Status]int, error) {
	return map[notification.Status]int{notification.Cancelled: 2500, notification.Sent: 1, notification.Pending: c.waiting}, nil
}

func (c *cancelling) CancelEvent(_ context.Context, eventID, reason string) error {
	c.asked = append(c.asked, eventID+" "+reason)
	return c.err
}

func (c *cancelling) CancelDelivery(_ context.Context, deliveryID, _ string) error {
	c.asked = append(c.asked, deliveryID)
	return c.err
}

// The rows are cancelled before the workflow, in statements of a bounded size, so that they name
// the cancelling event. If a later step fails, the repeat finds no rows to cancel.
func TestCancelEvent(t *testing.T) {
	t.Parallel()

	c := &cancelling{waiting: 2500, err: errors.New("temporal is out of reach")}
	a := &activities.Activities{Cancels: c, Lanes: c, Canceller: c}
	in := activities.CancelEventInput{EventID: "evt-1", By: "evt-2"}

	_, err := run[activities.CancelEventResult](a, a.CancelEvent, in)
	require.ErrorContains(t, err, "temporal is out of reach")
	require.Zero(t, c.waiting)
	require.Equal(t, "cancelled by event evt-2", c.reason)
	require.Equal(t, 3, c.statements)

	c.err = nil
	result := must(run[activities.CancelEventResult](a, a.CancelEvent, in))(t)
	require.Equal(t, slices.Repeat([]string{"evt-1 cancelled by event evt-2"}, 2), c.asked)
	require.Equal(t, map[notification.Status]int{notification.Cancelled: 2500, notification.Sent: 1, notification.Pending: 0},
		result.Deliveries)
}

// An event that may not cancel the other one changes nothing.
func TestCancelForeignEvent(t *testing.T) {
	t.Parallel()

	c := &cancelling{waiting: 1, foreign: true}
	a := &activities.Activities{Cancels: c, Lanes: c, Canceller: c}
	must(run[activities.CancelEventResult](a, a.CancelEvent, activities.CancelEventInput{EventID: "evt-1", By: "evt-2"}))(t)
	require.Equal(t, 1, c.waiting)
	require.Empty(t, c.asked)
}

// A part is cancelled in statements of a bounded size, for the input's reason. A repeat finds no
// rows to cancel. The deliveries of a terminated event do not change, because the event may be
// started again.
func TestCancelPart(t *testing.T) {
	t.Parallel()

	for terminated, want := range map[bool][]int{false: {2500, 0}, true: {0, 0}} {
		c := &cancelling{waiting: 2500}
		a := &activities.Activities{Cancels: c, Lanes: c, Executions: executions{terminated: terminated}}
		in := activities.CancelPartInput{
			Part: notification.Part{
				EventID: "evt-1", Lane: notification.Lane{Channel: notification.Email}, IDs: notification.IDRange{First: 1, Last: 2500},
			},
			Reason: notification.CancelledInTemporal, EventRun: "run-1",
		}
		for _, cancelled := range want {
			require.Equal(t, activities.CancelPartResult{Cancelled: cancelled}, must(run[activities.CancelPartResult](a, a.CancelPart, in))(t))
		}
		require.Equal(t, 2500-want[0], c.waiting)
		if !terminated {
			require.Equal(t, []int64{1, 1001, 2001, 1}, c.from)
			require.Equal(t, "cancelled in Temporal", c.reason)
		}
	}
}
