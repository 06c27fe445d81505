package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/roomtest"
)

// cancellers are all statements that cancel deliveries of v1 to staff 10.
var cancellers = map[string]func(t *testing.T, s *db.DB){
	"a part": func(t *testing.T, s *db.DB) {
		for _, lane := range roomtest.Must(attempt.On(s).Lanes(t.Context(), "v1"))(t) {
			require.NoError(t,
				roomtest.ErrOfTwo(event.On(s).CancelPart(t.Context(), notification.Part{EventID: "v1", Lane: lane},
					notification.CancelledInTemporal, 10)))
		}
	},
	"the end of the event": func(t *testing.T, s *db.DB) {
		roomtest.Must(event.On(s).FinishEvent(t.Context(), notification.EventEnd{EventID: "v1", Outcome: notification.EventCancelled}))(t)
	},
	"a newer event": func(t *testing.T, s *db.DB) {
		event := roomtest.EmitVersion(t, s, 2, "order-7")
		roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.Slack))
	},
	"a merge": func(t *testing.T, s *db.DB) {
		v1 := notification.Event{ID: "v1", Type: "ORDER_STATUS"}
		roomtest.SaveVersion(t, s, v1, roomtest.Version(v1, "11", notification.Email))
		roomtest.Must(person.On(s).CancelTwins(t.Context(), roomtest.Staff("10"), roomtest.Staff("11")))(t)
	},
	"its workflow": func(t *testing.T, s *db.DB) {
		roomtest.Must(attempt.On(s).GiveUp(t.Context(), "v1-staff10-EMAIL", notification.Cancelled, "why"))(t)
	},
}

// Whatever cancels deliveries cancels the same deliveries: all that wait, attempts in flight
// included. A delivery that an operator retries belongs to its own workflow.
func TestWhatIsCancelled(t *testing.T) {
	t.Parallel()

	const pending, sent, delivered, failed, cancelled = "PENDING", "SENT", "DELIVERED", "FAILED", "CANCELLED"
	tests := []struct {
		name, sql  string
		want, byIt string // byIt: if its own workflow cancels it; empty: want
	}{
		{name: "waits", sql: "status = 'PENDING'", want: cancelled},
		{name: "waits for a time", sql: "send_after = now() + '1 hour'", want: cancelled},
		{name: "in flight", sql: "attempt_owner = 'o', attempt_began = now(), attempt_until = now() + '1 hour', attempt_count = 1",
			want: cancelled},
		{name: "in a digest in flight",
			sql: "strategy = 'AGGREGATE', digest_id = 'd', attempt_owner = 'o', attempt_began = now(), attempt_until = now() + '1 hour', " +
				"attempt_count = 1", want: cancelled, byIt: pending},
		{name: "follows another one", sql: "escalated_from = 'v1-staff10-PUSH'", want: cancelled},
		{name: "retried", sql: "status = 'PENDING'", want: pending, byIt: cancelled},
		{name: "sent", sql: "status = 'SENT', sent_at = now()", want: sent},
		{name: "delivered", sql: "status = 'DELIVERED', sent_at = now(), delivered_at = now()", want: delivered},
		{name: "failed", sql: "status = 'FAILED', last_error = 'refused'", want: failed, byIt: cancelled},
		{name: "failed by a receipt", sql: "status = 'FAILED', last_error = 'refused', receipt_failed = true", want: failed},
	}
	s := postgrestest.New(t)
	for by, cancel := range cancellers {
		for _, tt := range tests {
			t.Run(by+" "+tt.name, func(t *testing.T) {
				roomtest.Empty(t, s)
				event := roomtest.EmitVersion(t, s, 1, "order-7")
				roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.Email))
				postgrestest.Exec(t, s, "UPDATE notification SET "+tt.sql)
				if tt.name == "retried" {
					postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: "v1-staff10-EMAIL", RunID: "run-1"})
				}
				cancel(t, s)
				want := tt.want
				if by == "its workflow" && tt.byIt != "" {
					want = tt.byIt
				}
				require.Equal(t, want, roomtest.Delivery(t, s, "v1-staff10-EMAIL").Status)
			})
		}
	}
}
