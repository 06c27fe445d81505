package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	r := told(t)
	tests := []struct {
		name   string
		filter report.DeliveryFilter
		want   []int64
	}{
		{name: "all", filter: report.DeliveryFilter{}, want: []int64{1, 2, 3, 4}},
		{name: "one status", filter: report.DeliveryFilter{Statuses: []notification.Status{notification.Pending}}, want: []int64{1, 2}},
		{name: "two statuses", filter: report.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Cancelled}}, want: []int64{3, 4}},
		{name: "two channels", filter: report.DeliveryFilter{Channels: []notification.Channel{notification.Email, notification.Push}}, want: []int64{1, 4}},
		{name: "event", filter: report.DeliveryFilter{EventID: "evt-2"}, want: []int64{3, 4}},
		{name: "event type", filter: report.DeliveryFilter{EventType: "RESERVATION_REQUESTED"}, want: []int64{1, 2}},
		{name: "recipient", filter: report.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}, want: []int64{1}},
		{name: "correlation id", filter: report.DeliveryFilter{CorrelationID: "c-3"}, want: []int64{3}},
		{name: "group", filter: report.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}}, want: []int64{2, 3}},
		{name: "group of another type", filter: report.DeliveryFilter{Entity: notification.Entity{Type: "AGENCY", ID: "5"}}},
		{name: "since is included", filter: report.DeliveryFilter{Since: noon.Add(-time.Hour)}, want: []int64{3, 4}},
		{name: "until is not", filter: report.DeliveryFilter{Until: noon.Add(-time.Hour)}, want: []int64{1, 2}},
		{name: "several conditions", filter: report.DeliveryFilter{Channels: []notification.Channel{notification.SMS}, EventID: "evt-2", Since: noon.Add(-3 * time.Hour)}, want: []int64{3}},
		{name: "none", filter: report.DeliveryFilter{EventID: "evt-3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			count, err := r.CountDeliveries(t.Context(), tt.filter)
			require.NoError(t, err)
			require.Equal(t, len(tt.want), count)
			page, err := r.DeliveryPage(t.Context(), tt.filter, 0, 10)
			require.NoError(t, err)
			require.Equal(t, tt.want, rowIDs(page))
		})
	}
}

func rowIDs(rows []report.DeliveryRow) []int64 {
	var ids []int64
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func TestDeliveryPages(t *testing.T) {
	t.Parallel()

	r := told(t)
	sms := report.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Push}}

	first, err := r.DeliveryPage(t.Context(), sms, 0, 2)
	require.NoError(t, err)
	second, err := r.DeliveryPage(t.Context(), sms, first[1].ID, 2)
	require.NoError(t, err)
	latest, err := r.LatestDeliveries(t.Context(), sms, 2)
	require.NoError(t, err)

	require.Equal(t, []int64{2, 3}, rowIDs(first))
	require.Equal(t, []int64{4}, rowIDs(second))
	require.Equal(t, []int64{4, 3}, rowIDs(latest))
}

func TestDeliveryRow(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET sent_at = $1, send_after = $1, attempt_count = 3 WHERE id = 4", noon)

	latest, err := r.LatestDeliveries(t.Context(), report.DeliveryFilter{}, 1)

	require.NoError(t, err)
	require.Len(t, latest, 1)
	require.True(t, noon.Equal(latest[0].CreatedAt))
	require.True(t, noon.Equal(*latest[0].SentAt))
	require.True(t, noon.Equal(*latest[0].SendAfter))
	latest[0].CreatedAt, latest[0].SentAt, latest[0].SendAfter = time.Time{}, nil, nil
	require.Equal(t, report.DeliveryRow{
		ID: 4, DeliveryID: "evt-2-customer10-PUSH", EventID: "evt-2", EventType: "OTHER", UserType: notification.Customer, UserID: "10",
		CorrelationID: "c-4", EntityType: "RESTAURANT", EntityID: "6",
		Channel: notification.Push, Status: notification.Cancelled, Strategy: notification.Immediate, Priority: notification.Normal,
		Attempts: 3, LastError: "cancelled", DigestID: "digest-1",
	}, latest[0])
	require.Equal(t, "CUSTOMER/10", latest[0].Recipient())
}

func TestLatestIDs(t *testing.T) {
	t.Parallel()

	r := told(t)

	deliveries, err := r.DeliveryIDs(t.Context(), "evt-2-", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"evt-2-customer10-PUSH"}, deliveries)
	events, err := r.EventIDs(t.Context(), "evt-", 2)
	require.NoError(t, err)
	require.Equal(t, []string{"evt-3", "evt-2"}, events)
	events, err = r.EventIDs(t.Context(), "%", 2)
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestLatestEvents(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'PROBLEM', problem = 'no path', updated_at = '2026-11-21 12:00Z'")
	exec(t, r, "INSERT INTO processed_event (event_id, status, outcome, updated_at) VALUES ('evt-3', 'SUCCESS', 'PROBLEM', '2026-11-21 11:30Z')")
	tests := []struct {
		name   string
		filter report.EventFilter
		want   []string
	}{
		{name: "all, bounded", filter: report.EventFilter{}, want: []string{"evt-3", "evt-2"}},
		{name: "status", filter: report.EventFilter{Status: "PENDING"}, want: []string{"evt-3"}},
		{name: "type", filter: report.EventFilter{Type: "RESERVATION_REQUESTED"}, want: []string{"evt-1"}},
		{name: "aggregate", filter: report.EventFilter{Aggregate: notification.Entity{Type: "RESTAURANT", ID: "5"}}, want: []string{"evt-1"}},
		{name: "correlation id", filter: report.EventFilter{CorrelationID: "order-1"}, want: []string{"evt-1"}},
		{name: "since", filter: report.EventFilter{Since: noon.Add(-time.Hour)}, want: []string{"evt-3"}},
		{name: "outcome, by its end", filter: report.EventFilter{Outcome: "PROBLEM"}, want: []string{"evt-1", "evt-3"}},
		{name: "outcome since", filter: report.EventFilter{Outcome: "PROBLEM", Since: noon.Add(-time.Hour)}, want: []string{"evt-3"}},
		{name: "outcome and type", filter: report.EventFilter{Outcome: "PROBLEM", Type: "RESERVATION_REQUESTED"}, want: []string{"evt-1"}},
		{name: "another outcome", filter: report.EventFilter{Outcome: "NO_ROUTING"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			list, err := r.LatestEvents(t.Context(), tt.filter, 2)

			require.NoError(t, err)
			var ids []string
			for _, e := range list {
				ids = append(ids, e.EventID)
			}
			require.Equal(t, tt.want, ids)
		})
	}
	list, err := r.LatestEvents(t.Context(), report.EventFilter{}, 3)
	require.NoError(t, err)
	require.Equal(t, "FAILED no", fmt.Sprint(list[1].Status, " ", list[1].ErrorMessage))
	require.Equal(t, "PROCESSED SUCCESS PROBLEM no path", fmt.Sprint(list[2].Status, " ", list[2].ProcessedStatus, " ", list[2].Outcome, " ", list[2].Problem))
}

// An event whose workflow runs for long without a decision shows in the list.
func TestLatestEventsThatAreUndecided(t *testing.T) {
	t.Parallel()

	r := told(t)
	undecided := func() bool {
		list, err := r.LatestEvents(t.Context(), report.EventFilter{Type: "RESERVATION_REQUESTED"}, 1)
		require.NoError(t, err)
		return list[0].Undecided
	}
	exec(t, r, "UPDATE processed_event SET status = 'PROCESSING', created_at = now() - interval '2 minutes'")
	require.False(t, undecided(), "something is decided")
	exec(t, r, "DELETE FROM notification_decision")
	require.True(t, undecided())
	exec(t, r, "UPDATE processed_event SET created_at = now()")
	require.False(t, undecided(), "it has just begun")
	exec(t, r, "DELETE FROM processed_event")
	require.False(t, undecided(), "it has not begun")
}
