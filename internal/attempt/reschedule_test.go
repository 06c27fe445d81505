package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// look reads what a delivery has to do next, without an attempt.
func look(t *testing.T, s *db.DB, id string) notification.Attempt {
	t.Helper()
	return roomtest.Must(attempt.On(s).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: []string{id}, StatusOnly: true}))(t)[0]
}

// No attempt begins before the time in the row. The answer says until when the delivery waits, and why.
// A wait ends when the delivery expires. Then, and for every time that is past, an attempt begins.
func TestAttemptWaitsForTheTimeInTheRow(t *testing.T) {
	t.Parallel()

	const tomorrow = "date_trunc('day', now() + interval '1 day')"
	const later, next = "send_after = " + tomorrow, "next_attempt_at = " + tomorrow
	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.AddRecipientOnce(t, s)
	postgrestest.Exec(t, s, "UPDATE recipient SET timezone = 'Europe/Rome'")
	for _, tt := range []struct {
		row  string
		want string // the reason; empty: the delivery is due
	}{
		{row: "send_after = NULL"},
		{row: "send_after = NULL, expires_at = " + tomorrow},
		{row: later, want: notification.WaitQuietHours},
		{row: later + ", strategy = 'DELAYED'", want: notification.WaitDelay},
		{row: next, want: notification.WaitQuietHours},
		{row: next + ", attempt_count = 1", want: notification.WaitRetry},
		{row: next + ", send_after = now() - interval '1 hour'", want: notification.WaitQuietHours},
		{row: later + ", next_attempt_at = now() - interval '1 hour'", want: notification.WaitQuietHours},
		{row: later + ", next_attempt_at = " + tomorrow + ", attempt_count = 1, operator_time = 'LATER'", want: notification.WaitOperator},
		{row: later + ", expires_at = 'infinity'", want: notification.WaitQuietHours},
		{row: "send_after = 'infinity', expires_at = " + tomorrow, want: notification.WaitQuietHours},
		{row: later + ", expires_at = now() - interval '1 second'"},
		{row: "send_after = now() - interval '1 second', next_attempt_at = now() - interval '1 minute'"},
	} {
		postgrestest.Exec(t, s, `
			UPDATE notification
			SET    status = 'PENDING', send_after = NULL, next_attempt_at = NULL, operator_time = NULL, strategy = 'IMMEDIATE',
			       attempt_count = 0, expires_at = NULL, attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL`)
		postgrestest.Exec(t, s, "UPDATE notification SET "+tt.row)

		seen, begun := look(t, s, roomtest.Mail), roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0]

		require.Equal(t, tt.want != "", seen.Held(), tt.row)
		if tt.want == "" {
			require.True(t, begun.Number > 0 || begun.Dropped == string(notification.DecisionExpired), tt.row)
			continue
		}
		require.Equal(t, seen, begun, tt.row)
		require.WithinDuration(t, postgrestest.Get[time.Time](t, s, "SELECT "+tomorrow), seen.NotBefore, 0, tt.row)
		require.Contains(t, seen.Wait, ": "+tt.want, tt.row)
		require.Zero(t, roomtest.Delivery(t, s, roomtest.Mail).Attempts-postgrestest.Get[int](t, s, "SELECT attempt_count FROM notification"),
			tt.row)
	}
}

// An item of a digest is left to the digest, whatever its time is.
func TestAttemptLeavesAnItemToItsDigest(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	for _, time := range []string{"NULL", "now() - interval '1 hour'", "now() + interval '1 hour'"} {
		postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', send_after = "+time)
		require.Equal(t, notification.Attempt{Status: notification.Pending, InDigest: true},
			roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0])
	}
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Cancelled)
	require.Equal(t, notification.Attempt{Status: notification.Cancelled}, look(t, s, roomtest.Mail))
}

// A repeat after a lost result finds in the row who took the message.
func TestStatusNamesTheProvider(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	result := notification.AttemptResult{DeliveryID: roomtest.Mail, Outcome: notification.OutcomeSent, Provider: "sendgrid", ProviderID: "p-1"}
	begun := roomtest.Begin(t, s, roomtest.Mail, 0)
	result.Number, result.Owner = begun.Number, begun.Owner
	roomtest.Must(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{result}))(t)

	require.Equal(t, notification.Attempt{Status: notification.Sent, SentBy: result.SentBy()}, look(t, s, roomtest.Mail))
}

// An operator's order is in the row, so a workflow that the sweep starts again obeys it.
func TestReschedule(t *testing.T) {
	t.Parallel()

	tomorrow := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond)
	for _, planned := range []string{"send_after = NULL", "send_after = now() + interval '3 hours'",
		"next_attempt_at = now() + interval '3 hours', attempt_count = 1"} {
		s := roomtest.New(t, roomtest.PlanMail)
		postgrestest.Exec(t, s, "UPDATE notification SET "+planned)

		require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, tomorrow))
		for _, seen := range []notification.Attempt{look(t, s, roomtest.Mail),
			roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0]} {
			require.WithinDuration(t, tomorrow, seen.NotBefore, 0, planned)
			require.Equal(t, notification.InstantText(tomorrow)+": rescheduled by an operator", seen.Wait)
		}

		require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, time.Time{}))
		require.False(t, look(t, s, roomtest.Mail).Held(), planned)

		roomtest.SetStatus(t, s, roomtest.Mail, notification.Sent)
		require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, tomorrow))
		require.Equal(t, "NOW", postgrestest.Get[string](t, s, "SELECT operator_time FROM notification"),
			"a delivery that has ended stays as it is")
	}
}

// send-now ignores quiet hours, also in a later run. A new time or a retry ends that.
func TestSendNowIgnoresQuietHours(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanWaitedMail)
	postgrestest.Add(t, s.Pool, postgrestest.Preference{QuietStart: "00:00", QuietEnd: "23:59:59.999999"})
	held := func() bool {
		postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL")
		return roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0].Held()
	}
	require.True(t, held())
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING'")
	require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, time.Time{}))
	require.False(t, held())

	require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, time.Now().Add(-time.Second)))
	require.True(t, held())
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING'")
	require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, time.Time{}))
	roomtest.Must(attempt.On(s).Reopen(t.Context(),
		notification.Reopened{DeliveryID: roomtest.Mail, RunID: "run-1", KeepText: true, Address: "a@example.com"}))(t)
	require.True(t, held())
}

// If an operator sets another time during an attempt, the end of the attempt keeps it.
func TestRescheduledDuringAnAttempt(t *testing.T) {
	t.Parallel()

	tomorrow := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond)
	for name, until := range map[string]time.Time{"later": tomorrow, "now": {}} {
		for _, ended := range []string{"failed", "released"} {
			t.Run(name+", "+ended, func(t *testing.T) {
				t.Parallel()

				s := roomtest.New(t, roomtest.PlanMail)
				begun := roomtest.Begin(t, s, roomtest.Mail, 0)
				require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, until))
				if ended == "failed" {
					result := notification.AttemptResult{DeliveryID: roomtest.Mail, Number: begun.Number, Owner: begun.Owner,
						Outcome: notification.OutcomeBusy, Next: tomorrow.Add(-time.Hour)}
					roomtest.Must(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{result}))(t)
				} else {
					begun.Verdict = notification.Verdict{NotBefore: tomorrow.Add(-time.Hour)}
					require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{begun}))
				}

				require.WithinDuration(t, until, look(t, s, roomtest.Mail).NotBefore, 0)
			})
		}
	}
}

// Rescheduling an item of a digest moves all items that wait for the digest. A digest that starts
// again starts with that time.
func TestRescheduleADigest(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.SealItems(2)(t, s)
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Millisecond)

	require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Item(1), tomorrow))
	for n := 1; n <= 2; n++ {
		place := roomtest.Must(attempt.On(s).DigestPlace(t.Context(), roomtest.Item(n)))(t)
		require.WithinDuration(t, tomorrow, place.Due, 0)
		require.False(t, place.Hastened)
	}

	require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Item(2), time.Time{}))
	require.True(t, roomtest.Must(attempt.On(s).DigestPlace(t.Context(), roomtest.Item(1)))(t).Hastened)
}
