package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// A part is cancelled in statements of a bounded size, for a reason that the input names. A
// repeat finds nothing left to do. What a terminated event leaves is not touched: the event
// may be started again.
func TestCancelPart(t *testing.T) {
	t.Parallel()

	for _, terminated := range []bool{false, true} {
		c := &cancelling{waiting: 2500}
		a := &activities.Activities{Cancels: c, Executions: executions{terminated: terminated}}
		in := activities.CancelPartInput{
			Part:   notification.Part{EventID: "evt-1", Lane: notification.Lane{Channel: notification.Email}, IDs: notification.IDRange{First: 1, Last: 2500}},
			Reason: notification.CancelledInTemporal, EventRun: "run-1",
		}
		first, second := 2500, 0
		if terminated {
			first = 0
		}
		for _, want := range []int{first, second} {
			got, err := run[activities.CancelPartResult](a, a.CancelPart, in)
			require.NoError(t, err)
			require.Equal(t, activities.CancelPartResult{Cancelled: want}, got)
		}
		if terminated {
			require.Equal(t, 2500, c.waiting)
			continue
		}
		require.Equal(t, []int64{1, 1001, 2001, 1}, c.from)
		require.Equal(t, "cancelled in Temporal", c.reason)
	}
}
