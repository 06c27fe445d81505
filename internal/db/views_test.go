package db_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

func columns(t *testing.T, s *db.DB, relation string) []string {
	t.Helper()
	return postgrestest.List(t, s,
		"SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum", relation)
}

// shown is a delivery to user 7 at noon; the test supplies the rest.
var shown = postgrestest.Delivery{
	UserType: notification.Customer, UserID: "7", Address: "address", Attempts: 2, CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	EntityType: "RESTAURANT", EntityID: "5", CorrelationID: "c-1",
}

// Each type of user has its view, with every column of the table.
func TestViewsByUserType(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	views := map[string]notification.UserType{
		"restaurant_notification": "RESTAURANT_USER", "customer_notification": "CUSTOMER", "agency_notification": "AGENCY_USER",
		"admin_notification": "ADMIN", "guest_notification": "GUEST",
	}
	for _, userType := range views {
		row := shown
		row.UserType, row.ID = userType, string(userType)
		postgrestest.Add(t, s.Pool, row)
	}
	for view, userType := range views {
		require.ElementsMatch(t, columns(t, s, "notification"), columns(t, s, view), view)
		require.Equal(t, string(userType)+" RESTAURANT/5 c-1", postgrestest.Get[string](t, s,
			"SELECT string_agg(user_type || ' ' || entity_type || '/' || entity_id || ' ' || correlation_id, ',') FROM "+view), view)
	}
}

// Tools for the documents' two tables find the same rows in the views, for every status.
func TestCompatibilityViews(t *testing.T) {
	t.Parallel()

	noon := shown.CreatedAt
	sent, delivered, later := noon.Add(time.Second), noon.Add(2*time.Second), noon.Add(time.Hour)
	latest := later.Add(time.Hour)
	type times struct{ after, again, sent, delivered time.Time }
	tests := []struct {
		name      string
		channel   notification.Channel
		status    notification.Status
		lastError string
		times     times
		outbox    string    // status in notification_outbox
		send      string    // status in notification_channel_send
		next      time.Time // next_retry_at
		retried   bool      // there is a row in notification_channel_send
	}{
		{name: "waits for its turn", channel: "EMAIL", status: "PENDING", outbox: "PENDING", next: noon, retried: true},
		{name: "waits for a time", channel: "SMS", status: "PENDING", times: times{after: later}, outbox: "PENDING", next: later, retried: true},
		{name: "backs off", channel: "EMAIL", status: "PENDING", lastError: "busy", times: times{again: later}, outbox: "PENDING", next: later,
			retried: true},
		{name: "backs off after a wait", channel: "PUSH", status: "PENDING", lastError: "busy", times: times{after: later, again: latest},
			outbox: "PENDING", next: latest, retried: true},
		{name: "ended after a back-off", channel: "EMAIL", status: "FAILED", lastError: "refused", times: times{again: later}, outbox: "FAILED",
			send: "FAILED", retried: true},
		{name: "sent", channel: "PUSH", status: "SENT", times: times{sent: sent}, outbox: "PUBLISHED", send: "SENT", retried: true},
		{name: "delivered", channel: "SMS", status: "DELIVERED", times: times{sent: sent, delivered: delivered}, outbox: "DELIVERED",
			send: "SENT", retried: true},
		{name: "failed", channel: "EMAIL", status: "FAILED", lastError: "refused", outbox: "FAILED", send: "FAILED", retried: true},
		{name: "cancelled", channel: "EMAIL", status: "CANCELLED", lastError: "cancelled", outbox: "FAILED", send: "FAILED", retried: true},
		{name: "never retried", channel: "WEBSOCKET", status: "SENT", times: times{sent: sent}, outbox: "PUBLISHED"},
		{name: "never retried, over another channel", channel: "SLACK", status: "FAILED", lastError: "refused", outbox: "FAILED"},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			row := shown
			row.Channel, row.Status, row.LastError = tt.channel, tt.status, tt.lastError
			row.SendAfter, row.SentAt, row.DeliveredAt = tt.times.after, tt.times.sent, tt.times.delivered
			id := postgrestest.AddDelivery(t, s.Pool, row, nil)
			postgrestest.Exec(t, s, "UPDATE notification SET next_attempt_at = $1", value(tt.times.again))

			require.Equal(t, map[string]any{
				"id": id, "event_id": "evt-1", "recipient_id": "7", "recipient_type": "CUSTOMER", "channel": string(tt.channel),
				"title": "title", "body": "body", "recipient_address": "address", "status": tt.outbox, "created_at": noon,
				"published_at": value(tt.times.sent),
				"delivered_at": value(tt.times.delivered),
			}, only(t, s, "notification_outbox"))
			if !tt.retried {
				require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_channel_send"))
				return
			}
			require.Equal(t, map[string]any{
				"id": id, "notification_id": id, "channel_type": string(tt.channel), "recipient_address": "address", "sent": value(tt.times.sent),
				"status":        value(tt.send),
				"attempt_count": int32(2), "next_retry_at": value(tt.next), "last_error": value(tt.lastError), "created_at": noon,
			}, only(t, s, "notification_channel_send"))
		})
	}
}

// value returns v, or nil if v is zero.
func value[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// only reads the single row of a relation, with its times in UTC.
func only(t *testing.T, s *db.DB, relation string) map[string]any {
	t.Helper()
	rows := roomtest.Must(s.Pool.Query(t.Context(), "SELECT * FROM "+relation))(t)
	row := roomtest.Must(pgx.CollectExactlyOneRow(rows, pgx.RowToMap))(t)
	for name, value := range row {
		if at, ok := value.(time.Time); ok {
			row[name] = at.UTC()
		}
	}
	return row
}

func TestCompatibilityViewsAreReadOnly(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, shown)
	for _, view := range []string{"notification_outbox", "notification_channel_send"} {
		for _, change := range []string{
			"INSERT INTO " + view + " (recipient_address) VALUES ('x')",
			"UPDATE " + view + " SET recipient_address = 'x'",
			"UPDATE " + view + " SET recipient_address = 'x' WHERE id = 404",
			"DELETE FROM " + view,
			"DELETE FROM " + view + " WHERE id = 404",
		} {
			require.ErrorContains(t, roomtest.ErrOf(s.Pool.Exec(t.Context(), change)), "view "+view+" is read-only", change)
		}
	}
	require.Equal(t, "address", postgrestest.Get[string](t, s, "SELECT recipient_address FROM notification"))
}
