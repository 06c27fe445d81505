package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

func endGroup(t *testing.T, s *postgres.Store, results []notification.AttemptResult) []notification.RecordedAttempt {
	t.Helper()
	recorded, err := s.EndAttempts(t.Context(), owned(t, s, results...))
	require.NoError(t, err)
	require.Len(t, recorded, len(results))
	return recorded
}

// sentAt are the results of deliveries that were sent at their attempt of a number.
func sentAt(number int, ids ...string) []notification.AttemptResult {
	results := make([]notification.AttemptResult, len(ids))
	for i, id := range ids {
		results[i] = notification.AttemptResult{DeliveryID: id, Number: number, Outcome: notification.OutcomeSent}
	}
	return results
}

// Each result of a group is recorded as it would be alone, whatever became of its delivery
// meanwhile; a status only climbs.
func TestEndAttempts(t *testing.T) {
	t.Parallel()

	const reason = "sendgrid refused: 400"
	sent := notification.AttemptResult{Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", Took: 40 * time.Millisecond}
	busy := notification.AttemptResult{Outcome: notification.OutcomeBusy, ProviderStatus: 429, Detail: reason}
	refused := notification.AttemptResult{Outcome: notification.OutcomeRefused, ProviderStatus: 400, Detail: reason, GiveUp: true}
	const bounced = "UPDATE notification SET status = 'FAILED', receipt_failed = true, last_error = 'bounced', sent_at = now() WHERE delivery_id = "
	tests := []struct {
		name       string
		meanwhile  string // before the end is recorded; the id follows
		result     notification.AttemptResult
		want       notification.Status
		wantError  *string
		deadLetter bool
	}{
		{name: "sent", result: sent, want: notification.Sent},
		{name: "failed for now", result: busy, want: notification.Pending, wantError: ptr(reason)},
		{name: "given up", result: refused, want: notification.Failed, wantError: ptr(reason), deadLetter: true},
		{name: "sent although cancelled", meanwhile: "UPDATE notification SET status = 'CANCELLED', last_error = 'before' WHERE delivery_id = ", result: sent, want: notification.Sent},
		{name: "cancelled before it was given up", meanwhile: "UPDATE notification SET status = 'CANCELLED', last_error = 'before' WHERE delivery_id = ", result: refused, want: notification.Cancelled, wantError: ptr("before")},
		{name: "bounced before it was sent", meanwhile: bounced, result: sent, want: notification.Failed, wantError: ptr("bounced")},
		{name: "bounced before it was given up", meanwhile: bounced, result: refused, want: notification.Failed, wantError: ptr("bounced")},
		{name: "arrived before it was sent", meanwhile: "UPDATE notification SET status = 'DELIVERED', sent_at = now(), delivered_at = now() WHERE delivery_id = ", result: sent, want: notification.Delivered},
		{name: "gone", meanwhile: "DELETE FROM notification WHERE delivery_id = ", result: sent},
	}
	s, ids := mailsTo(t, len(tests))
	beginBatch(t, s, ids)
	var results []notification.AttemptResult
	var letters []string
	for i, tt := range tests {
		if tt.meanwhile != "" {
			exec(t, s, tt.meanwhile+"$1", ids[i])
		}
		if tt.deadLetter {
			letters = append(letters, ids[i])
		}
		tt.result.DeliveryID, tt.result.Number = ids[i], 1
		results = append(results, tt.result)
	}

	recorded := endGroup(t, s, results)
	again := endGroup(t, s, results)

	for i, tt := range tests {
		require.Equal(t, tt.want, recorded[i].Status, tt.name)
		require.Equal(t, tt.want, again[i].Status, "%s, repeated", tt.name)
		require.Equal(t, tt.result.Outcome == notification.OutcomeSent && (tt.want == notification.Sent || tt.want == notification.Delivered), recorded[i].Age > 0, tt.name)
		require.Zero(t, again[i].Age, "%s is measured once", tt.name)
		if tt.want == "" {
			continue
		}
		got := delivery(t, s, ids[i])
		require.Equal(t, string(tt.want), got.Status, tt.name)
		require.Equal(t, tt.wantError, got.Error, tt.name)
		require.Equal(t, string(tt.result.Outcome), get[string](t, s, "SELECT outcome FROM delivery_attempt WHERE delivery_id = $1", ids[i]), tt.name)
	}
	require.Equal(t, "SENT 202 00:00:00.04", get[string](t, s, "SELECT concat_ws(' ', outcome, provider_status, detail, took) FROM delivery_attempt WHERE delivery_id = $1", ids[0]))
	require.Equal(t, letters, list(t, s, "SELECT delivery_id FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'"), "each is told of once")
	letter, failed, err := s.DeadLetterOf(t.Context(), letters[0])
	require.NoError(t, err)
	require.True(t, failed)
	require.Equal(t, reason, letter.Reason)
}

// The queue of dead letters hears of what is given up at once, and not of best-effort
// channels.
func TestEndAttemptsWakes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	savePlan(t, s, decided("0", planned(notification.Email), planned(notification.WebSocket)))
	beginBatch(t, s, []string{"evt-1-staff0-EMAIL", "evt-1-staff0-WEBSOCKET"})
	conn, err := s.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "LISTEN delivery_follow_up")
	require.NoError(t, err)

	for _, id := range []string{"evt-1-staff0-WEBSOCKET", "evt-1-staff0-EMAIL"} {
		given := notification.AttemptResult{DeliveryID: id, Number: 1, Outcome: notification.OutcomeRefused, Detail: "refused", GiveUp: true}
		require.Equal(t, notification.Failed, endGroup(t, s, []notification.AttemptResult{given})[0].Status)
	}

	_, err = conn.Conn().WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"evt-1-staff0-EMAIL"}, list(t, s, "SELECT delivery_id FROM delivery_follow_up"))
}

// What the provider says of addresses and devices is kept for each result alone.
func TestEndAttemptsOfDeadAddresses(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 3)
	exec(t, s, "INSERT INTO recipient_device (user_type, user_id, token) SELECT user_type, user_id, 'token ' || user_id FROM notification")
	exec(t, s, past)
	beginBatch(t, s, ids)
	refused := notification.AttemptResult{Number: 1, Outcome: notification.OutcomeRefused, Detail: "refused", GiveUp: true}
	dead, invalid, other := refused, refused, refused
	dead.DeliveryID, dead.DeadDevices = ids[0], []string{"token 0"}
	invalid.DeliveryID, invalid.Suppress = ids[1], notification.SuppressedInvalid
	other.DeliveryID = ids[2]

	for _, recorded := range endGroup(t, s, []notification.AttemptResult{dead, invalid, other}) {
		require.Empty(t, recorded.DeadTokensKept)
	}

	require.Equal(t, []string{"token 0"}, list(t, s, "SELECT token FROM recipient_device WHERE NOT active"))
	require.Equal(t, []string{"INVALID"}, list(t, s, "SELECT reason FROM recipient_suppression WHERE address_hash = $1", hashed("1@example.com")))
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
}

// A group ends in one statement, however many it has.
func TestEndAttemptsAsksOnce(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 200)
	beginBatch(t, s, ids)
	ends := owned(t, s, sentAt(1, ids...)...)
	listening, asked := heard(t, s)
	_, err := listening.EndAttempts(t.Context(), ends)
	require.NoError(t, err)
	require.Len(t, asked.heard, 1)
	require.Equal(t, 200, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'SENT'"))
}
