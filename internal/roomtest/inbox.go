package roomtest

import (
	"maps"
	"testing"
	"time"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
)

// InboxStart is the time of a test's first row.
var InboxStart = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// PlantInbox inserts n notifications that staff 10 got over WEBSOCKET, one a second.
func PlantInbox(t *testing.T, s *db.DB, n int, sql postgrestest.Expressions) {
	t.Helper()
	columns := postgrestest.Expressions{"user_id": "'10'"}
	for _, at := range []string{"created_at", "available_at", "sent_at"} {
		columns[at] = "'2026-11-22 08:00Z'::timestamptz + i * interval '1 second'"
	}
	maps.Copy(columns, sql)
	Plant(t, s, n, postgrestest.Delivery{UserType: notification.RestaurantUser, Channel: notification.WebSocket, Status: notification.Sent,
		Attempts: 1}, columns)
}

func InboxPage(t *testing.T, s *db.DB, filter notification.InboxFilter) []notification.InboxItem {
	t.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	return Must(inbox.On(s).InboxPage(t.Context(), Staff10, filter))(t).Items
}

func InboxAfter(t *testing.T, s *db.DB, after notification.InboxPosition) []notification.InboxItem {
	t.Helper()
	return Must(inbox.On(s).InboxAfter(t.Context(), Staff10, after, false, 100))(t).Items
}

func EventsOf(items []notification.InboxItem) []string {
	return Mapped(items, func(item notification.InboxItem) string { return item.EventID })
}
