package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

func reopen(t *testing.T, s *db.DB, plan notification.Reopened) notification.ReopenedState {
	t.Helper()
	return must(attempt.On(s).Reopen(t.Context(), plan))(t)
}

// anew returns a plan of the mail with another text and another address.
func anew(run string, again bool) notification.Reopened {
	return notification.Reopened{DeliveryID: mail, RunID: run, Again: again, Address: "new", Title: ptr("new title"), Body: ptr("new body")}
}

func TestReopening(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	reopening := func() notification.Reopening { return must(attempt.On(s).Reopening(t.Context(), mail))(t) }
	nobody := notification.Recipient{UserType: notification.RestaurantUser, UserID: "10", Preferences: []notification.Preference{}}
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, HasText: true, Recipient: nobody}, reopening())

	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: nobody.UserType, UserID: "10", Name: "Ada", Email: "ada@example.com", Phone: "+1", Slack: "https://slack", Locale: "it", Timezone: "Europe/Rome", Inactive: true})
	postgrestest.Exec(t, s, "INSERT INTO recipient_device (user_type, user_id, token, active) VALUES ('RESTAURANT_USER', '10', 'token', false)")
	postgrestest.Exec(t, s, "UPDATE notification SET body = NULL, last_error = 'no key pax'")
	ada := notification.Recipient{
		UserType: notification.RestaurantUser, UserID: "10", Name: "Ada", Email: "ada@example.com", Phone: "+1", SlackWebhookURL: "https://slack",
		Locale: "it", Timezone: "Europe/Rome", Preferences: []notification.Preference{},
	}
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, Known: true, Recipient: ada}, reopening())

	postgrestest.Exec(t, s, "UPDATE recipient SET active = true")
	postgrestest.Exec(t, s, "UPDATE recipient_device SET active = true")
	ada.HasDevice = true
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, Known: true, Active: true, Recipient: ada}, reopening())
}

// Every status is checked, with and without Again.
func TestReopen(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	for _, before := range []notification.Status{notification.Pending, notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled} {
		for _, again := range []bool{false, true} {
			postgrestest.Exec(t, s, "TRUNCATE notification, notification_decision CASCADE")
			savePlan(t, s, decided("10", planned(notification.Email)))
			begin(t, s, mail, 0)
			setStatus(t, s, mail, before)
			postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', send_after = now(), digest_id = 'digest-1'")
			was := delivery(t, s, mail)
			sent := before == notification.Sent || before == notification.Delivered

			state := reopen(t, s, anew("run-1", again))

			if sent && !again {
				require.Equal(t, notification.ReopenedState{Status: before, Attempts: 1}, state, before)
				require.Equal(t, was, delivery(t, s, mail), before)
				require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"), before)
				continue
			}
			require.Equal(t, notification.ReopenedState{Status: notification.Pending, Attempts: 1}, state, before)
			require.Equal(t, row{
				Status: "PENDING", Attempts: 1, Title: ptr("new title"), Body: ptr("new body"), Address: ptr("new"), Sent: sent,
			}, delivery(t, s, mail), "%s: the earlier sending stays recorded", before)
			require.True(t, postgrestest.Get[bool](t, s, "SELECT strategy = 'IMMEDIATE' AND send_after IS NULL AND digest_id IS NULL FROM notification"), "no digest takes it")
			require.True(t, postgrestest.Get[bool](t, s, `
				SELECT run_id = 'run-1' AND again = $1 AND status_before = $2 AND error_before IS NOT DISTINCT FROM $3
				FROM   delivery_retry`, again, string(before), was.Error), before)
		}
	}
}

// A delivery keeps the link of its plan, until it gets another text.
func TestLinkOfADelivery(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	linked := planned(notification.Email)
	linked.URL = "/orders/7"
	savePlan(t, s, decided("10", linked, planned(notification.Push)))
	require.Equal(t, "/orders/7", begin(t, s, mail, 0).Message.URL)
	require.Empty(t, begin(t, s, "evt-1-staff10-PUSH", 0).Message.URL)

	kept := notification.Reopened{DeliveryID: mail, RunID: "run-1", KeepText: true, Again: true}
	reopen(t, s, kept)
	require.Equal(t, "/orders/7", begin(t, s, mail, 1).Message.URL)
	other := anew("run-2", true)
	other.URL = "/orders/8"
	reopen(t, s, other)
	require.Equal(t, "/orders/8", begin(t, s, mail, 2).Message.URL)
	reopen(t, s, anew("run-3", true))
	require.Nil(t, postgrestest.Get[*string](t, s, "SELECT url FROM notification WHERE delivery_id = $1", mail))
}

// A delivery whose own time is in the future waits for that time again, also when its first step
// is repeated. After a purge of its event, its row still has the time.
func TestReopenUntilItsOwnTime(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	setStatus(t, s, mail, notification.Cancelled)
	at := time.Date(2099, 11, 22, 7, 0, 0, 0, time.UTC)
	later := anew("run-1", false)
	later.SendAfter = &at
	for range 2 {
		require.Equal(t, notification.ReopenedState{Status: notification.Pending, SendAfter: at}, reopen(t, s, later))
	}
	require.True(t, postgrestest.Get[bool](t, s, "SELECT strategy = 'DELAYED' AND send_after = $1 FROM notification", at))

	require.Equal(t, at, must(attempt.On(s).Reopening(t.Context(), mail))(t).SendAfter)
}

// A delivery that cannot be planned fails with the reason.
func TestReopenWithAProblem(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	setStatus(t, s, mail, notification.Cancelled)
	gone := notification.Reopened{DeliveryID: mail, RunID: "run-1", KeepText: true, Problem: "the recipient is no longer active"}
	require.Equal(t, notification.ReopenedState{Status: notification.Failed, LastError: gone.Problem}, reopen(t, s, gone))
	require.Equal(t, row{Status: "FAILED", Error: &gone.Problem, Title: ptr("title"), Body: ptr("body")}, delivery(t, s, mail))

	broken := notification.Reopened{DeliveryID: mail, RunID: "run-2", Address: "to", Problem: "no key pax"}
	require.Equal(t, notification.ReopenedState{Status: notification.Failed, LastError: broken.Problem}, reopen(t, s, broken))
	require.Equal(t, row{Status: "FAILED", Error: &broken.Problem, Address: ptr("to")}, delivery(t, s, mail), "an old text is not sent in place of the new text")
	require.Equal(t, broken.Problem, begin(t, s, mail, 0).Problem)
}

// The result of a run stays when its first step is repeated late.
func TestReopenRepeated(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	setStatus(t, s, mail, notification.Sent)
	reopen(t, s, anew("run-1", true))
	require.Equal(t, notification.Pending, reopen(t, s, anew("run-1", true)).Status)
	begin(t, s, mail, 0)
	endAttempt(t, s, 1, notification.OutcomeSent, "")

	require.Equal(t, notification.ReopenedState{Status: notification.Sent, Attempts: 1}, reopen(t, s, anew("run-1", true)))
	require.Equal(t, notification.Pending, reopen(t, s, anew("run-2", true)).Status, "another run may reopen the delivery")
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"))
}

// A delivery that is reopened and sent at the same moment ends sent, or sent again. It never stays
// pending without a run that reopened it.
func TestReopenSideBySide(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	begun := begin(t, s, mail, 0)
	sideBySide(t, 5, func(i int) error {
		if i > 0 {
			return errOf(attempt.On(s).Reopen(t.Context(), anew("run-1", false)))
		}
		return errOf(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{{DeliveryID: mail, Number: 1, Owner: begun.Owner, Outcome: notification.OutcomeSent}}))
	})
	require.Equal(t, "SENT", delivery(t, s, mail).Status)
	require.LessOrEqual(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"), 1)
}

func TestDeliveryState(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	begin(t, s, mail, 0)
	setStatus(t, s, mail, notification.Failed)
	want := attempt.DeliveryState{
		Status: notification.Failed, Channel: notification.Email, EventID: "evt-1", EventType: "RESERVATION_REQUESTED",
		UserType: notification.RestaurantUser, UserID: "10", Priority: notification.Normal, Attempts: 1, LastError: "before",
		Number: 1, UnderWay: true,
	}
	state := must(attempt.On(s).DeliveryState(t.Context(), mail))(t)
	require.Equal(t, want, state, "without its event, which was purged")

	emit(t, s, 1)
	setStatus(t, s, mail, notification.Sent)
	state = must(attempt.On(s).DeliveryState(t.Context(), mail))(t)
	require.Equal(t, restaurant5, state.Aggregate)
	require.WithinDuration(t, postgrestest.Get[time.Time](t, s, "SELECT sent_at FROM notification"), *state.SentAt, 0)
}
