package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

var (
	mails      = notification.Lane{Channel: notification.Email}
	laterMails = notification.Lane{Channel: notification.Email, Waiting: true}
	texts      = notification.Lane{Channel: notification.SMS}
)

// largeEvent returns a store with evt-1 and ten recipients: each has a mail, every second
// mail is sent later, and the first has an SMS. Three mails have ended.
func largeEvent(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	for i := range 10 {
		mail, others := planned(notification.Email), []notification.PlannedDelivery{}
		if i%2 == 1 {
			mail.SendAfter = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if i == 0 {
			others = append(others, planned(notification.SMS))
		}
		savePlan(t, s, decided(fmt.Sprint(i), append(others, mail)...))
	}
	saveOf(t, s, "evt-2", toCustomer("evt-2", "7"))
	setStatus(t, s, "evt-1-staff0-EMAIL", notification.Sent)
	setStatus(t, s, "evt-1-staff2-EMAIL", notification.Failed)
	setStatus(t, s, "evt-1-staff3-EMAIL", notification.Cancelled)
	return s
}

func TestLanes(t *testing.T) {
	t.Parallel()

	s := largeEvent(t)
	lanes := must(attempt.On(s).Lanes(t.Context(), "evt-1"))(t)
	require.Equal(t, []notification.Lane{mails, laterMails, texts}, lanes)

	postgrestest.Exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE channel = 'SMS' OR send_after IS NOT NULL")
	lanes = must(attempt.On(s).Lanes(t.Context(), "evt-1"))(t)
	require.Equal(t, []notification.Lane{mails}, lanes)
}

// A lane's stretches contain each row that is still to be delivered, once, and no other.
func TestNextDeliveries(t *testing.T) {
	t.Parallel()

	s := largeEvent(t)
	tests := []struct {
		lane notification.Lane
		only notification.Status
		want []string
	}{
		{lane: mails, want: []string{"2", "4", "6", "8"}},
		{lane: mails, only: notification.Pending, want: []string{"4", "6", "8"}},
		{lane: mails, only: notification.Failed, want: []string{"2"}},
		{lane: laterMails, want: []string{"1", "5", "7", "9"}},
		{lane: texts, want: []string{"0"}},
		{lane: notification.Lane{Channel: notification.SMS, Waiting: true}},
	}
	for _, tt := range tests {
		for _, limit := range []int{1, 3, 100} {
			var got []string
			for after := int64(0); ; {
				next := must(attempt.On(s).NextDeliveries(t.Context(), "evt-1", tt.lane, notification.IDRange{First: after + 1}, tt.only, limit))(t)
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

	s := largeEvent(t)
	part := notification.Part{EventID: "evt-1", Lane: laterMails}
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

	s := largeEvent(t)
	for limit, want := range map[int]int{3: 3, 100: 9} {
		require.Len(t, must(attempt.On(s).Undelivered(t.Context(), "evt-1", limit))(t), want)
	}
}

// A stretch has the priority of most of its deliveries.
func TestNextDeliveriesPriority(t *testing.T) {
	t.Parallel()

	s := largeEvent(t)
	for _, priority := range []notification.Priority{notification.High, notification.Low} {
		postgrestest.Exec(t, s, "UPDATE notification SET priority = 'NORMAL'")
		postgrestest.Exec(t, s, "UPDATE notification SET priority = $1 WHERE user_id IN ('2', '4', '6')", priority)
		require.Equal(t, priority, must(attempt.On(s).NextDeliveries(t.Context(), "evt-1", mails, notification.IDRange{}, "", 100))(t).Priority)
	}
}
