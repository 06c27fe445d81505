package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// expiringMail is a mail that was planned just now, and expires after a while.
func expiringMail(t *testing.T, left time.Duration) *db.DB {
	t.Helper()
	s := roomtest.New(t)
	mail := roomtest.Planned(notification.Email)
	mail.ExpiresAt = postgrestest.Get[time.Time](t, s, "SELECT now() + $1::interval", left)
	roomtest.SavePlan(t, s, roomtest.Decided("10", mail))
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "10", "CHEF")
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'ada@example.com'")
	postgrestest.Add(t, s.Pool, postgrestest.Route{EventType: "RESERVATION_REQUESTED"})
	return s
}

// Attempts check the expiry by the database's clock, also within a minute of planning.
func TestBeginAttemptsOfExpiredDeliveries(t *testing.T) {
	t.Parallel()

	for _, in := range []notification.Begin{{}, {First: true}, {Ordered: true}, {SkipQuiet: true}} {
		s := expiringMail(t, -time.Millisecond)
		in.DeliveryIDs = []string{roomtest.Mail}

		attempt := roomtest.BeginAs(t, s, in)[0]

		require.Equal(t, notification.Attempt{Status: notification.Cancelled, Verdict: notification.Verdict{Dropped: "EXPIRED"}}, attempt)
		stored := roomtest.Delivery(t, s, roomtest.Mail)
		require.Equal(t, []any{"CANCELLED", "EXPIRED", 0}, []any{stored.Status, *stored.Error, stored.Attempts})
	}
}

// A message's limit is in the clock of its process: an hour from now, whatever the clocks show.
func TestBeginAttemptsTellsTheTimeLeft(t *testing.T) {
	t.Parallel()

	s := expiringMail(t, time.Hour)
	before := time.Now()
	message := roomtest.Begin(t, s, roomtest.Mail, 0).Message

	require.True(t, message.ExpiresAt.Equal(postgrestest.Get[time.Time](t, s, "SELECT expires_at FROM notification")))
	require.False(t, message.SendBy.After(time.Now().Add(time.Hour)), "never later than the database")
	require.True(t, message.SendBy.After(before), "it has not expired")
	require.False(t, message.Expired())

	none := roomtest.New(t, roomtest.PlanMail)
	require.Zero(t, roomtest.Begin(t, none, roomtest.Mail, 0).Message.SendBy)
}

// An operator's retry keeps the limit. With --again, it drops a limit that is over.
func TestReopenExpiredDeliveries(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		left  time.Duration
		again bool
		kept  bool
	}{
		{name: "already expired", left: -time.Minute, kept: true},
		{name: "already expired, again", left: -time.Minute, again: true},
		{name: "not yet expired, again", left: time.Hour, again: true, kept: true},
	} {
		s := expiringMail(t, tt.left)
		roomtest.SetStatus(t, s, roomtest.Mail, notification.Cancelled)

		state := roomtest.Must(attempt.On(s).Reopen(t.Context(),
			notification.Reopened{DeliveryID: roomtest.Mail, RunID: "run-1", Again: tt.again, KeepText: true, Address: "ada@example.com"}))(t)

		require.Equal(t, notification.Pending, state.Status)
		require.Equal(t, tt.kept, postgrestest.Get[bool](t, s, "SELECT expires_at IS NOT NULL FROM notification"), tt.name)
		dropped := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Ordered: true, Again: tt.again})[0].Dropped
		require.Equal(t, tt.kept && tt.left < 0, dropped == "EXPIRED", tt.name)
	}
}

// A delivery that waited too long is not followed by another.
func TestExpiredDeliveriesDoNotEscalate(t *testing.T) {
	t.Parallel()

	for left, want := range map[time.Duration]notification.EscalationOutcome{-time.Second: notification.EscalationCancelled, time.Hour: ""} {
		s := expiringMail(t, left)
		postgrestest.Exec(t, s, "UPDATE notification SET escalates = true")

		found := roomtest.Must(escalation.On(s).Escalating(t.Context(),
			notification.EscalationKey{DeliveryID: roomtest.Mail, To: notification.SMS}))(t)

		outcome, _ := found.Evaluate(notification.Escalation{From: notification.Email, To: notification.SMS, After: time.Second}, time.Time{})
		require.Equal(t, want, outcome)
		require.Equal(t, left < 0, found.Expired)
	}
}
