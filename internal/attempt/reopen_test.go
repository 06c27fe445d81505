package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

func TestReopening(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	reopening := func() notification.Reopening {
		return roomtest.Must(attempt.On(s).Reopening(t.Context(), roomtest.Mail))(t)
	}
	nobody := notification.Recipient{UserType: notification.RestaurantUser, UserID: "10", Preferences: []notification.Preference{}}
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, HasText: true, Recipient: nobody}, reopening())

	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: nobody.UserType, UserID: "10", Name: "Ada", Email: "ada@example.com",
		Phone: "+1", Slack: "https://slack", Locale: "it", Timezone: "Europe/Rome", Inactive: true})
	postgrestest.Add(t, s.Pool, postgrestest.Device{Inactive: true})
	postgrestest.Exec(t, s, "UPDATE notification SET body = NULL, last_error = 'no key pax'")
	ada := notification.Recipient{
		UserType: notification.RestaurantUser, UserID: "10", Name: "Ada", Email: "ada@example.com", Phone: "+1", SlackWebhookURL: "https://slack",
		Locale: "it", Timezone: "Europe/Rome", Preferences: []notification.Preference{},
	}
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, Known: true, Recipient: ada}, reopening())

	postgrestest.Exec(t, s, "UPDATE recipient SET active = true")
	postgrestest.Exec(t, s, "UPDATE recipient_device SET active = true")
	ada.HasDevice = true
	require.Equal(t, notification.Reopening{EventID: "evt-1", Channel: notification.Email, Known: true, Active: true, Recipient: ada},
		reopening())
}

// Every status is checked, with and without Again.
func TestReopen(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	for _, before := range []notification.Status{notification.Pending, notification.Sent, notification.Delivered, notification.Failed,
		notification.Cancelled} {
		for _, again := range []bool{false, true} {
			postgrestest.Exec(t, s, "TRUNCATE notification, notification_decision CASCADE")
			roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)))
			roomtest.Begin(t, s, roomtest.Mail, 0)
			roomtest.SetStatus(t, s, roomtest.Mail, before)
			postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', send_after = now(), digest_id = 'digest-1'")
			was := roomtest.Delivery(t, s, roomtest.Mail)
			sent := before == notification.Sent || before == notification.Delivered

			state := roomtest.Reopen(t, s, roomtest.Anew("run-1", again))

			if sent && !again {
				require.Equal(t, notification.ReopenedState{Status: before, Attempts: 1}, state, before)
				require.Equal(t, was, roomtest.Delivery(t, s, roomtest.Mail), before)
				require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"), before)
				continue
			}
			require.Equal(t, notification.ReopenedState{Status: notification.Pending, Attempts: 1}, state, before)
			require.Equal(t, roomtest.Row{
				Status: "PENDING", Attempts: 1, Title: new("new title"), Body: new("new body"), Address: new("new"), Sent: sent,
			}, roomtest.Delivery(t, s, roomtest.Mail), "%s: the earlier sending stays recorded", before)
			require.True(t, postgrestest.Get[bool](t, s,
				"SELECT strategy = 'IMMEDIATE' AND send_after IS NULL AND digest_id IS NULL FROM notification"), "no digest takes it")
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
	linked := roomtest.Planned(notification.Email)
	linked.URL = "/orders/7"
	roomtest.SavePlan(t, s, roomtest.Decided("10", linked, roomtest.Planned(notification.Push)))
	require.Equal(t, "/orders/7", roomtest.Begin(t, s, roomtest.Mail, 0).Message.URL)
	require.Empty(t, roomtest.Begin(t, s, "evt-1-staff10-PUSH", 0).Message.URL)

	kept := notification.Reopened{DeliveryID: roomtest.Mail, RunID: "run-1", KeepText: true, Again: true}
	roomtest.Reopen(t, s, kept)
	require.Equal(t, "/orders/7", roomtest.Begin(t, s, roomtest.Mail, 1).Message.URL)
	other := roomtest.Anew("run-2", true)
	other.URL = "/orders/8"
	roomtest.Reopen(t, s, other)
	require.Equal(t, "/orders/8", roomtest.Begin(t, s, roomtest.Mail, 2).Message.URL)
	roomtest.Reopen(t, s, roomtest.Anew("run-3", true))
	require.Nil(t, postgrestest.Get[*string](t, s, "SELECT url FROM notification WHERE delivery_id = $1", roomtest.Mail))
}

// A delivery whose own time is in the future waits for that time again, also when its first step
// is repeated. After a purge of its event, its row still has the time.
func TestReopenUntilItsOwnTime(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Cancelled)
	at := time.Date(2099, 11, 22, 7, 0, 0, 0, time.UTC)
	later := roomtest.Anew("run-1", false)
	later.SendAfter = &at
	for range 2 {
		require.Equal(t, notification.ReopenedState{Status: notification.Pending, SendAfter: at}, roomtest.Reopen(t, s, later))
	}
	require.True(t, postgrestest.Get[bool](t, s, "SELECT strategy = 'DELAYED' AND send_after = $1 FROM notification", at))

	require.Equal(t, at, roomtest.Must(attempt.On(s).Reopening(t.Context(), roomtest.Mail))(t).SendAfter)
}

// A delivery that cannot be planned fails with the reason.
func TestReopenWithAProblem(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Cancelled)
	gone := notification.Reopened{DeliveryID: roomtest.Mail, RunID: "run-1", KeepText: true, Problem: "the recipient is no longer active"}
	require.Equal(t, notification.ReopenedState{Status: notification.Failed, LastError: gone.Problem}, roomtest.Reopen(t, s, gone))
	require.Equal(t, roomtest.Row{Status: "FAILED", Error: &gone.Problem, Title: new("title"), Body: new("body")},
		roomtest.Delivery(t, s, roomtest.Mail))

	broken := notification.Reopened{DeliveryID: roomtest.Mail, RunID: "run-2", Address: "to", Problem: "no key pax"}
	require.Equal(t, notification.ReopenedState{Status: notification.Failed, LastError: broken.Problem}, roomtest.Reopen(t, s, broken))
	require.Equal(t, roomtest.Row{Status: "FAILED", Error: &broken.Problem, Address: new("to")}, roomtest.Delivery(t, s, roomtest.Mail),
		"an old text is not sent in place of the new text")
	require.Equal(t, broken.Problem, roomtest.Begin(t, s, roomtest.Mail, 0).Problem)
}

// The result of a run stays when its first step is repeated late.
func TestReopenRepeated(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Sent)
	roomtest.Reopen(t, s, roomtest.Anew("run-1", true))
	require.Equal(t, notification.Pending, roomtest.Reopen(t, s, roomtest.Anew("run-1", true)).Status)
	roomtest.Begin(t, s, roomtest.Mail, 0)
	roomtest.EndAttempt(t, s, 1, notification.OutcomeSent, "")

	require.Equal(t, notification.ReopenedState{Status: notification.Sent, Attempts: 1}, roomtest.Reopen(t, s, roomtest.Anew("run-1", true)))
	require.Equal(t, notification.Pending, roomtest.Reopen(t, s, roomtest.Anew("run-2", true)).Status, "another run may reopen the delivery")
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"))
}

// A delivery that is reopened and sent at the same moment ends sent, or sent again. It never stays
// pending without a run that reopened it.
func TestReopenSideBySide(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	begun := roomtest.Begin(t, s, roomtest.Mail, 0)
	roomtest.SideBySide(t, 5, func(i int) error {
		if i > 0 {
			return roomtest.ErrOf(attempt.On(s).Reopen(t.Context(), roomtest.Anew("run-1", false)))
		}
		return roomtest.ErrOf(attempt.On(s).EndAttempts(t.Context(),
			[]notification.AttemptResult{{DeliveryID: roomtest.Mail, Number: 1, Owner: begun.Owner, Outcome: notification.OutcomeSent}}))
	})
	require.Equal(t, "SENT", roomtest.Delivery(t, s, roomtest.Mail).Status)
	require.LessOrEqual(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_retry"), 1)
}

func TestDeliveryState(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.Begin(t, s, roomtest.Mail, 0)
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Failed)
	want := attempt.DeliveryState{
		Status: notification.Failed, Channel: notification.Email, EventID: "evt-1", EventType: "RESERVATION_REQUESTED",
		UserType: notification.RestaurantUser, UserID: "10", Priority: notification.Normal, Attempts: 1, LastError: "before",
		Number: 1, UnderWay: true,
	}
	state := roomtest.Must(attempt.On(s).DeliveryState(t.Context(), roomtest.Mail))(t)
	require.Equal(t, want, state, "without its event, which was purged")

	roomtest.Emit(t, s, 1)
	roomtest.SetStatus(t, s, roomtest.Mail, notification.Sent)
	state = roomtest.Must(attempt.On(s).DeliveryState(t.Context(), roomtest.Mail))(t)
	require.Equal(t, roomtest.Restaurant5, state.Aggregate)
	require.WithinDuration(t, postgrestest.Get[time.Time](t, s, "SELECT sent_at FROM notification"), *state.SentAt, 0)
}
