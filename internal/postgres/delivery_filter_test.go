package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// withFour has four deliveries, planned an hour apart, the last at noon.
func withFour(t *testing.T) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	savePlan(t, s, decided("10", planned(notification.Email)), decided("11", planned(notification.SMS)))
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, last_error, digest_id)
		VALUES ('evt-2', 'OTHER', 'CUSTOMER', '10', 'SMS', 'evt-2-customer10-SMS', 'a', 'b', 'c', 'FAILED', 'twilio refused: 400 21211', NULL),
		       ('evt-2', 'OTHER', 'CUSTOMER', '10', 'PUSH', 'evt-2-customer10-PUSH', 'a', 'b', NULL, 'CANCELLED', 'cancelled', 'digest-1')`)
	exec(t, s, "UPDATE notification SET correlation_id = 'c-' || id, entity_type = 'RESTAURANT', entity_id = CASE WHEN id < 4 THEN '5' ELSE '6' END WHERE id > 1")
	exec(t, s, "UPDATE notification SET created_at = $1::timestamptz - (4 - id) * interval '1 hour'", noon)
	return s
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	s := withFour(t)
	tests := []struct {
		name   string
		filter postgres.DeliveryFilter
		want   []int64
	}{
		{"all", postgres.DeliveryFilter{}, []int64{1, 2, 3, 4}},
		{"one status", postgres.DeliveryFilter{Statuses: []notification.Status{notification.Pending}}, []int64{1, 2}},
		{"two statuses", postgres.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Cancelled}}, []int64{3, 4}},
		{"two channels", postgres.DeliveryFilter{Channels: []notification.Channel{notification.Email, notification.Push}}, []int64{1, 4}},
		{"event", postgres.DeliveryFilter{EventID: "evt-2"}, []int64{3, 4}},
		{"event type", postgres.DeliveryFilter{EventType: "RESERVATION_REQUESTED"}, []int64{1, 2}},
		{"recipient", postgres.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}, []int64{1}},
		{"correlation id", postgres.DeliveryFilter{CorrelationID: "c-3"}, []int64{3}},
		{"group", postgres.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}}, []int64{2, 3}},
		{"group of another type", postgres.DeliveryFilter{Entity: notification.Entity{Type: "AGENCY", ID: "5"}}, nil},
		{"since is included", postgres.DeliveryFilter{Since: noon.Add(-time.Hour)}, []int64{3, 4}},
		{"until is not", postgres.DeliveryFilter{Until: noon.Add(-time.Hour)}, []int64{1, 2}},
		{"several conditions", postgres.DeliveryFilter{Channels: []notification.Channel{notification.SMS}, EventID: "evt-2", Since: noon.Add(-3 * time.Hour)}, []int64{3}},
		{"none", postgres.DeliveryFilter{EventID: "evt-3"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			count, err := s.CountDeliveries(t.Context(), tt.filter)
			require.NoError(t, err)
			require.Equal(t, len(tt.want), count)
			page, err := s.DeliveryPage(t.Context(), tt.filter, 0, 10)
			require.NoError(t, err)
			require.Equal(t, tt.want, rowIDs(page))
		})
	}
}

func rowIDs(rows []postgres.DeliveryRow) []int64 {
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestDeliveryPages(t *testing.T) {
	t.Parallel()

	s := withFour(t)
	sms := postgres.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Push}}

	first, err := s.DeliveryPage(t.Context(), sms, 0, 2)
	require.NoError(t, err)
	second, err := s.DeliveryPage(t.Context(), sms, first[1].ID, 2)
	require.NoError(t, err)
	latest, err := s.DeliveryList(t.Context(), sms, 2)
	require.NoError(t, err)

	require.Equal(t, []int64{2, 3}, rowIDs(first))
	require.Equal(t, []int64{4}, rowIDs(second))
	require.Equal(t, []int64{4, 3}, rowIDs(latest))
}

func TestDeliveryRow(t *testing.T) {
	t.Parallel()

	s := withFour(t)
	exec(t, s, "UPDATE notification SET sent_at = $1, send_after = $1, attempt_count = 3 WHERE id = 4", noon)

	latest, err := s.DeliveryList(t.Context(), postgres.DeliveryFilter{}, 1)

	require.NoError(t, err)
	require.Len(t, latest, 1)
	require.True(t, noon.Equal(latest[0].CreatedAt))
	require.True(t, noon.Equal(*latest[0].SentAt))
	require.True(t, noon.Equal(*latest[0].SendAfter))
	latest[0].CreatedAt, latest[0].SentAt, latest[0].SendAfter = time.Time{}, nil, nil
	require.Equal(t, postgres.DeliveryRow{
		ID: 4, DeliveryID: "evt-2-customer10-PUSH", EventID: "evt-2", EventType: "OTHER", UserType: notification.Customer, UserID: "10",
		CorrelationID: "c-4", EntityType: "RESTAURANT", EntityID: "6",
		Channel: notification.Push, Status: notification.Cancelled, Strategy: notification.Immediate, Priority: notification.Normal,
		Attempts: 3, LastError: "cancelled", DigestID: "digest-1",
	}, latest[0])
	require.Equal(t, "CUSTOMER/10", latest[0].Recipient())
}

func TestLatestIDs(t *testing.T) {
	t.Parallel()

	s := withFour(t)
	emit(t, s, 3)

	deliveries, err := s.DeliveryIDs(t.Context(), "evt-2-", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"evt-2-customer10-PUSH"}, deliveries)
	events, err := s.EventIDs(t.Context(), "evt-", 2)
	require.NoError(t, err)
	require.Equal(t, []string{"evt-3", "evt-2"}, events)
	events, err = s.EventIDs(t.Context(), "%", 2)
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestEventList(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 4)
	exec(t, s, "UPDATE event_outbox SET created_at = $1::timestamptz - (4 - seq) * interval '1 hour'", noon)
	exec(t, s, "UPDATE event_outbox SET event_type = 'OTHER', status = 'FAILED', error_message = 'no' WHERE event_id = 'evt-2'")
	exec(t, s, "UPDATE event_outbox SET aggregate_id = '6', status = 'PROCESSED', published_at = now() WHERE event_id = 'evt-3'")
	exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('evt-3', 'SUCCESS')")
	exec(t, s, "UPDATE event_outbox SET correlation_id = 'c-1' WHERE event_id = 'evt-1'")
	tests := []struct {
		name   string
		filter postgres.EventFilter
		want   []string
	}{
		{"all, bounded", postgres.EventFilter{}, []string{"evt-4", "evt-3", "evt-2"}},
		{"status", postgres.EventFilter{Status: "PENDING"}, []string{"evt-4", "evt-1"}},
		{"type", postgres.EventFilter{Type: "OTHER"}, []string{"evt-2"}},
		{"aggregate", postgres.EventFilter{Aggregate: notification.Entity{Type: "RESTAURANT", ID: "6"}}, []string{"evt-3"}},
		{"correlation id", postgres.EventFilter{CorrelationID: "c-1"}, []string{"evt-1"}},
		{"since", postgres.EventFilter{Since: noon.Add(-time.Hour)}, []string{"evt-4", "evt-3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			list, err := s.EventList(t.Context(), tt.filter, 3)

			require.NoError(t, err)
			var ids []string
			for _, e := range list {
				ids = append(ids, e.EventID)
			}
			require.Equal(t, tt.want, ids)
		})
	}
	list, err := s.EventList(t.Context(), postgres.EventFilter{}, 3)
	require.NoError(t, err)
	require.Equal(t, "PROCESSED SUCCESS", fmt.Sprint(list[1].Status, " ", list[1].ProcessedStatus))
	require.Equal(t, "FAILED no", fmt.Sprint(list[2].Status, " ", list[2].ErrorMessage))
}
