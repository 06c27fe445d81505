package attempt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// The row names the provider that has the message, or may have it, until an operator sends it again.
func TestEndAttemptNamesTheProvider(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	provider := func() string {
		return postgrestest.Get[string](t, s, "SELECT coalesce(provider, '') FROM notification")
	}
	for _, step := range []struct {
		outcome        notification.AttemptOutcome
		provider, want string
	}{
		{outcome: notification.OutcomeBusy},
		{outcome: notification.OutcomeAmbiguous}, // there was no connection
		{outcome: notification.OutcomeAmbiguous, provider: "smtp", want: "smtp"},
		{outcome: notification.OutcomeBusy, want: "smtp"},
		{outcome: notification.OutcomeSent, provider: "sendgrid", want: "sendgrid"},
	} {
		before := provider()
		attempt := roomtest.Begin(t, s, roomtest.Mail, 0)
		require.Equal(t, before, attempt.Message.Provider)
		roomtest.EndAs(t, s, notification.AttemptResult{DeliveryID: roomtest.Mail, Number: attempt.Number, Outcome: step.outcome,
			Provider: step.provider, ProviderID: "id"})
		require.Equal(t, step.want, provider())
	}
	roomtest.Reopen(t, s, roomtest.Anew("run-1", true))
	require.Empty(t, provider())
}

// The age of the event is measured for messages that are sent as soon as possible: seven
// hours.
func TestEndAttemptMeasuresTheAge(t *testing.T) {
	t.Parallel()

	const sent = notification.OutcomeSent
	tests := []struct {
		name     string
		sql      string // sets up the case
		rows     []postgrestest.Row
		outcome  notification.AttemptOutcome
		measured bool
	}{
		{name: "at once", outcome: sent, measured: true},
		{name: "not sent", outcome: notification.OutcomeBusy},
		{name: "delayed", sql: "UPDATE notification SET strategy = 'DELAYED'", outcome: sent},
		{name: "deferred by quiet hours", sql: "UPDATE notification SET send_after = now()", outcome: sent},
		{name: "in a digest", sql: "UPDATE notification SET strategy = 'AGGREGATE'", outcome: sent},
		{name: "retried", rows: []postgrestest.Row{postgrestest.Retry{DeliveryID: roomtest.Mail}}, outcome: sent},
		{name: "of a purged event", sql: "DELETE FROM event_outbox", outcome: sent},
		{name: "of an event from the future", sql: "UPDATE event_outbox SET created_at = now() + interval '1 hour'", outcome: sent},
		{name: "sent before", sql: "UPDATE notification SET status = 'SENT', sent_at = now()", outcome: sent},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.PlanMail(t, s)
			roomtest.EmitEvent(t, s, "evt-1")
			postgrestest.Exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '7 hours'")
			roomtest.Begin(t, s, roomtest.Mail, 0)
			postgrestest.Add(t, s.Pool, tt.rows...)
			postgrestest.Exec(t, s, tt.sql)
			result := notification.AttemptResult{DeliveryID: roomtest.Mail, Number: 1, Outcome: tt.outcome, Detail: "why"}

			age := roomtest.EndAs(t, s, result)

			require.Equal(t, tt.measured, age.Truncate(time.Hour) == 7*time.Hour, age)
			require.Equal(t, tt.measured, age != 0, age)
			require.Zero(t, roomtest.EndAs(t, s, result), "the age is measured once")
		})
	}
}

// A result that is written again later changes nothing.
func TestEndAttemptRepeated(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.Begin(t, s, roomtest.Mail, 0)
	roomtest.EndAttempt(t, s, 1, notification.OutcomeBusy, "first")
	roomtest.Begin(t, s, roomtest.Mail, 0)
	roomtest.EndAttempt(t, s, 2, notification.OutcomeRefused, "second")
	roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Mail, notification.Failed, "given up"))(t)

	roomtest.EndAttempt(t, s, 1, notification.OutcomeBusy, "first, repeated")

	require.Equal(t, new("given up"), roomtest.Delivery(t, s, roomtest.Mail).Error)
	require.Equal(t, "first", postgrestest.Get[string](t, s, "SELECT detail FROM delivery_attempt WHERE attempt = 1"))
}

// Each result of a group is recorded as it would be alone, whatever happened to its
// delivery meanwhile. A status only climbs.
func TestEndAttempts(t *testing.T) {
	t.Parallel()

	const reason = "sendgrid refused: 400"
	sent := notification.AttemptResult{Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", Took: 40 * time.Millisecond}
	busy := notification.AttemptResult{Outcome: notification.OutcomeBusy, ProviderStatus: 429, Detail: reason}
	refused := notification.AttemptResult{Outcome: notification.OutcomeRefused, ProviderStatus: 400, Detail: reason, GiveUp: true}
	const (
		cancelled = "status = 'CANCELLED', last_error = 'before'"
		bounced   = "status = 'FAILED', receipt_failed = true, last_error = 'bounced', sent_at = now()"
		arrived   = "status = 'DELIVERED', sent_at = now(), delivered_at = now()"
	)
	tests := []struct {
		name       string
		deleted    bool
		meanwhile  string // before the end is recorded: columns of the delivery
		result     notification.AttemptResult
		want       notification.Status
		wantError  *string
		deadLetter bool
	}{
		{name: "sent", result: sent, want: notification.Sent},
		{name: "failed for now", result: busy, want: notification.Pending, wantError: new(reason)},
		{name: "given up", result: refused, want: notification.Failed, wantError: new(reason), deadLetter: true},
		{name: "sent although cancelled", meanwhile: cancelled, result: sent, want: notification.Sent},
		{name: "cancelled before it was given up", meanwhile: cancelled, result: refused, want: notification.Cancelled, wantError: new("before")},
		{name: "bounced before it was sent", meanwhile: bounced, result: sent, want: notification.Failed, wantError: new("bounced")},
		{name: "bounced before it was given up", meanwhile: bounced, result: refused, want: notification.Failed, wantError: new("bounced")},
		{name: "arrived before it was sent", meanwhile: arrived, result: sent, want: notification.Delivered},
		{name: "deleted", deleted: true, result: sent},
	}
	s, ids := mailsTo(t, len(tests))
	roomtest.BeginBatch(t, s, ids)
	var results []notification.AttemptResult
	var letters []string
	for i, tt := range tests {
		if tt.deleted {
			postgrestest.Exec(t, s, "DELETE FROM notification WHERE delivery_id = $1", ids[i])
		} else if tt.meanwhile != "" {
			postgrestest.Exec(t, s, "UPDATE notification SET "+tt.meanwhile+" WHERE delivery_id = $1", ids[i])
		}
		if tt.deadLetter {
			letters = append(letters, ids[i])
		}
		tt.result.DeliveryID, tt.result.Number = ids[i], 1
		results = append(results, tt.result)
	}

	recorded := roomtest.EndGroup(t, s, results)
	again := roomtest.EndGroup(t, s, results)

	for i, tt := range tests {
		require.Equal(t, tt.want, recorded[i].Status, tt.name)
		require.Equal(t, tt.want, again[i].Status, "%s, repeated", tt.name)
		require.Equal(t, tt.result.Outcome == notification.OutcomeSent && (tt.want == notification.Sent || tt.want == notification.Delivered),
			recorded[i].Age > 0, tt.name)
		require.Zero(t, again[i].Age, "%s is measured once", tt.name)
		if tt.want == "" {
			continue
		}
		got := roomtest.Delivery(t, s, ids[i])
		require.Equal(t, string(tt.want), got.Status, tt.name)
		require.Equal(t, tt.wantError, got.Error, tt.name)
		require.Equal(t, string(tt.result.Outcome), postgrestest.Get[string](t, s,
			"SELECT outcome FROM delivery_attempt WHERE delivery_id = $1", ids[i]), tt.name)
	}
	require.Equal(t, "SENT 202 00:00:00.04", postgrestest.Get[string](t, s,
		"SELECT concat_ws(' ', outcome, provider_status, detail, took) FROM delivery_attempt WHERE delivery_id = $1", ids[0]))
	require.True(t, postgrestest.Get[bool](t, s, "SELECT bool_and(sent_at = delivered_at) FROM notification WHERE status = 'DELIVERED'"),
		"an earlier time stays")
	require.Equal(t, letters, postgrestest.List(t, s, "SELECT delivery_id FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'"),
		"each has one dead letter")
	letter, failed, err := escalation.On(s).DeadLetterOf(t.Context(), letters[0])
	require.NoError(t, err)
	require.True(t, failed)
	require.Equal(t, reason, letter.Reason)
}

// A delivery that is given up wakes the follow-up worker at once, except on best-effort
// channels.
func TestEndAttemptsWakesTheFollowUpWorker(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.SavePlan(t, s, roomtest.Decided("0", roomtest.Planned(notification.Email), roomtest.Planned(notification.WebSocket)))
	roomtest.BeginBatch(t, s, []string{"evt-1-staff0-EMAIL", "evt-1-staff0-WEBSOCKET"})
	conn := roomtest.Must(s.Pool.Acquire(t.Context()))(t)
	defer conn.Release()
	roomtest.Must(conn.Exec(t.Context(), "LISTEN delivery_follow_up"))(t)

	for _, id := range []string{"evt-1-staff0-WEBSOCKET", "evt-1-staff0-EMAIL"} {
		given := notification.AttemptResult{DeliveryID: id, Number: 1, Outcome: notification.OutcomeRefused, Detail: "refused", GiveUp: true}
		require.Equal(t, notification.Failed, roomtest.EndGroup(t, s, []notification.AttemptResult{given})[0].Status)
	}

	roomtest.Must(conn.Conn().WaitForNotification(t.Context()))(t)
	require.Equal(t, []string{"evt-1-staff0-EMAIL"}, postgrestest.List(t, s, "SELECT delivery_id FROM delivery_follow_up"))
}

// A provider's reports about addresses and devices are stored for each result separately.
func TestEndAttemptsOfDeadAddresses(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 3)
	postgrestest.AddMany(t, s.Pool, 3, postgrestest.Device{}, postgrestest.Expressions{"user_id": "i - 1", "token": "'token ' || i - 1"})
	postgrestest.Exec(t, s, roomtest.Past)
	roomtest.BeginBatch(t, s, ids)
	refused := notification.AttemptResult{Number: 1, Outcome: notification.OutcomeRefused, Detail: "refused", GiveUp: true}
	dead, invalid, other := refused, refused, refused
	dead.DeliveryID, dead.DeadDevices = ids[0], []string{"token 0"}
	invalid.DeliveryID, invalid.Suppress = ids[1], notification.SuppressedInvalid
	other.DeliveryID = ids[2]

	for _, recorded := range roomtest.EndGroup(t, s, []notification.AttemptResult{dead, invalid, other}) {
		require.Empty(t, recorded.DeadTokensKept)
	}

	require.Equal(t, []string{"token 0"}, postgrestest.List(t, s, "SELECT token FROM recipient_device WHERE NOT active"))
	require.Equal(t, []string{"INVALID"}, postgrestest.List(t, s, "SELECT reason FROM recipient_suppression WHERE address_hash = $1",
		roomtest.Hashed("1@example.com")))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
}

// A group of any size ends in one statement.
func TestEndAttemptsNeedsOneStatement(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 200)
	roomtest.BeginBatch(t, s, ids)
	ends := roomtest.Owned(t, s, roomtest.SentAt(1, ids...)...)
	listening, asked := roomtest.Heard(t, s)
	roomtest.Must(attempt.On(listening).EndAttempts(t.Context(), ends))(t)
	require.Len(t, asked.All, 1)
	require.Equal(t, 200, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'SENT'"))
}

// An attempt leaves each row on its page, from begin to end. The begin writes no index.
// The row of the attempt is written once.
func TestAttemptStaysOnItsPage(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, "ALTER TABLE notification SET (autovacuum_enabled = false)")
	postgrestest.Exec(t, s, "ALTER TABLE delivery_attempt SET (autovacuum_enabled = false)")
	roomtest.Plant(t, s, 1000, postgrestest.Delivery{
		Title: "A new reservation", Body: "A table for four on Friday at 20:00.", Address: "customer@example.com",
	}, nil)
	const pages = `SELECT delivery_id || ' on ' || (ctid::text::point)[0] FROM notification WHERE id = ANY ($1) ORDER BY id`
	var some []int // far fewer rows than fit on each page
	for id := 1; id <= 1000; id += 50 {
		some = append(some, id)
	}
	before := postgrestest.List(t, s, pages, some)

	working, _ := roomtest.Heard(t, s)
	for _, id := range some {
		delivery := fmt.Sprint("d", id)
		begun := roomtest.BeginBatch(t, working, []string{delivery})[0]
		roomtest.EndAs(t, working, notification.AttemptResult{
			DeliveryID: delivery, Number: begun.Number, Outcome: notification.OutcomeSent, ProviderID: "m", Took: time.Millisecond,
		})
	}
	working.Close() // so that the server records its counts

	require.Equal(t, before, postgrestest.List(t, s, pages, some))
	hot := func(table string) string {
		return postgrestest.Get[string](t, s, "SELECT format('%s of %s', n_tup_hot_upd, n_tup_upd) FROM pg_stat_user_tables WHERE relname = $1",
			table)
	}
	counted := func() bool { return strings.HasSuffix(hot("notification"), " of 40") }
	require.Eventually(t, counted, time.Minute, 20*time.Millisecond, "each connection reports its own updates")
	require.Equal(t, "20 of 40", hot("notification"), "indexes contain the status, which changes at the end")
	require.Equal(t, "0 of 0", hot("delivery_attempt"), "the row is written once")
}
