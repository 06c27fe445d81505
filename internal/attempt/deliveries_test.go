package attempt_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

var (
	texts = notification.Lane{Channel: notification.SMS}
)

func TestLanes(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	lanes := roomtest.Must(attempt.On(s).Lanes(t.Context(), "evt-1"))(t)
	require.Equal(t, []notification.Lane{roomtest.MailLane, roomtest.LaterMailLane, texts}, lanes)

	postgrestest.Exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE channel = 'SMS' OR send_after IS NOT NULL")
	lanes = roomtest.Must(attempt.On(s).Lanes(t.Context(), "evt-1"))(t)
	require.Equal(t, []notification.Lane{roomtest.MailLane}, lanes)
}

// A lane's stretches contain each row that is still to be delivered, once, and no other.
func TestNextDeliveries(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	tests := []struct {
		lane notification.Lane
		only notification.Status
		want []string
	}{
		{lane: roomtest.MailLane, want: []string{"2", "4", "6", "8"}},
		{lane: roomtest.MailLane, only: notification.Pending, want: []string{"4", "6", "8"}},
		{lane: roomtest.MailLane, only: notification.Failed, want: []string{"2"}},
		{lane: roomtest.LaterMailLane, want: []string{"1", "5", "7", "9"}},
		{lane: texts, want: []string{"0"}},
		{lane: notification.Lane{Channel: notification.SMS, Waiting: true}},
	}
	for _, tt := range tests {
		for _, limit := range []int{1, 3, 100} {
			var got []string
			for after := int64(0); ; {
				rest := notification.IDRange{First: after + 1}
				next := roomtest.Must(attempt.On(s).NextDeliveries(t.Context(), "evt-1", tt.lane, rest, tt.only, limit))(t)
				if next.Last == 0 {
					require.Zero(t, next)
					break
				}
				part := notification.Part{EventID: "evt-1", Lane: tt.lane, IDs: next.IDRange}
				found, more, err := attempt.On(s).LaneDeliveries(t.Context(), part, tt.only, 100)
				require.NoError(t, err)
				require.Zero(t, more)
				require.LessOrEqual(t, len(found), limit)
				require.Len(t, found, next.Count)
				require.Equal(t, slices.ContainsFunc(found, func(d notification.Delivery) bool { return d.UserID == "2" }), next.Failed)
				for _, d := range found {
					require.Equal(t, tt.lane.Channel, d.Channel)
					require.Equal(t, tt.lane.Waiting, d.Waits())
					got = append(got, d.UserID)
				}
				after = next.Last
			}
			require.Equal(t, tt.want, got)
		}
	}
}

// Each list of a part continues where the one before it ended.
func TestLaneDeliveriesInLists(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	part := notification.Part{EventID: "evt-1", Lane: roomtest.LaterMailLane}
	var got []string
	for lists := 1; ; lists++ {
		found, next, err := attempt.On(s).LaneDeliveries(t.Context(), part, "", 3)
		require.NoError(t, err)
		for _, d := range found {
			got = append(got, d.UserID)
		}
		if next == 0 {
			require.Equal(t, 2, lists)
			break
		}
		part.IDs.First, part.IDs.Last = next, 1<<40
	}
	require.Equal(t, []string{"1", "5", "7", "9"}, got)
}

func TestUndelivered(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	for limit, want := range map[int]int{3: 3, 100: 9} {
		require.Len(t, roomtest.Must(attempt.On(s).Undelivered(t.Context(), "evt-1", limit))(t), want)
	}
}

// A stretch has the priority of most of its deliveries.
func TestNextDeliveriesPriority(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	for _, priority := range []notification.Priority{notification.High, notification.Low} {
		postgrestest.Exec(t, s, "UPDATE notification SET priority = 'NORMAL'")
		postgrestest.Exec(t, s, "UPDATE notification SET priority = $1 WHERE user_id IN ('2', '4', '6')", priority)
		require.Equal(t, priority, roomtest.Must(attempt.On(s).NextDeliveries(t.Context(), "evt-1", roomtest.MailLane, notification.IDRange{},
			"", 100))(t).Priority)
	}
}
