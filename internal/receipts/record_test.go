package receipts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// Recording returns a result for each receipt. A repeat, also in one batch, changes
// nothing. A receipt of an unknown delivery is not kept.
func TestRecordReceipts(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	postgrestest.Exec(t, s, "UPDATE notification SET sent_at = now() - interval '1 hour'")
	stranger := roomtest.Delivered("r-3")
	stranger.DeliveryID = "evt-404-staff10-EMAIL"

	recorded := roomtest.Record(t, s, stranger, roomtest.Delivered("r-1"), roomtest.Delivered("r-1"), roomtest.Bounce("r-2"))

	require.Equal(t, notification.RecordedReceipt{Unknown: true}, recorded[0])
	for i, repeated := range map[int]bool{1: false, 2: true, 3: false} {
		require.Equal(t, repeated, recorded[i].Repeated, i)
		require.Equal(t, notification.Email, recorded[i].Channel)
		require.Equal(t, time.Hour, recorded[i].Age.Truncate(time.Hour))
	}
	require.Equal(t, []string{"sendgrid r-1 delivered DELIVERED ", "sendgrid r-2 bounce FAILED 550 no such user"}, postgrestest.List(t, s, `
		SELECT concat_ws(' ', provider, receipt_id, status, outcome, coalesce(detail, ''))
		FROM   delivery_receipt
		WHERE  delivery_id = '`+roomtest.Mail+`' AND message_id = 'm' AND at = '2026-06-01 10:00Z'
		ORDER BY receipt_id`))
	require.Equal(t, []string{"DEAD_LETTER " + roomtest.Mail}, roomtest.FollowUpsOf(t, s))

	postgrestest.Exec(t, s, "DELETE FROM recipient_suppression")
	postgrestest.Exec(t, s, "DELETE FROM delivery_follow_up")
	was := roomtest.Delivery(t, s, roomtest.Mail)
	require.True(t, roomtest.Record(t, s, roomtest.Bounce("r-2"))[0].Repeated)
	require.Equal(t, was, roomtest.Delivery(t, s, roomtest.Mail))
	require.Empty(t, roomtest.FollowUpsOf(t, s))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"),
		"a suppression that an operator removed stays removed")
	require.Empty(t, roomtest.Record(t, s))
}

// A receipt is stored with all its consequences, or not at all.
func TestReceiptsAreAllOrNothing(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	postgrestest.Exec(t, s, "ALTER TABLE recipient_suppression RENAME TO away")
	require.Error(t, roomtest.ErrOf(receipts.On(s).RecordReceipts(t.Context(), []notification.Receipt{roomtest.Bounce("r-1")})))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_receipt"))
	require.Equal(t, "SENT", roomtest.Delivery(t, s, roomtest.Mail).Status)

	postgrestest.Exec(t, s, "ALTER TABLE away RENAME TO recipient_suppression")
	require.False(t, roomtest.Record(t, s, roomtest.Bounce("r-1"))[0].Repeated)
	require.Equal(t, "FAILED", roomtest.Delivery(t, s, roomtest.Mail).Status)
	require.Equal(t, []string{"DEAD_LETTER " + roomtest.Mail}, roomtest.FollowUpsOf(t, s))
}

// Gateways that get the same receipts at once, each in a different order, store each once
// and do not deadlock.
func TestReceiptsOnSeveralGateways(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	const people, gateways = 20, 4
	var given []notification.Receipt
	for n := range people {
		user := fmt.Sprint(n)
		roomtest.SavePlan(t, s, roomtest.Decided(user, roomtest.Planned(notification.Email)))
		r := roomtest.Bounce("r-" + user)
		r.DeliveryID = "evt-1-staff" + user + "-EMAIL"
		given = append(given, r, roomtest.Delivered("d-"+user))
		given[len(given)-1].DeliveryID = r.DeliveryID
	}
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1")
	var fresh [gateways]int
	roomtest.SideBySide(t, gateways, func(gateway int) error {
		mine := slices.Clone(given)
		if gateway%2 == 1 {
			slices.Reverse(mine)
		}
		recorded, err := receipts.On(s).RecordReceipts(t.Context(), mine)
		for _, r := range recorded {
			if !r.Repeated {
				fresh[gateway]++
			}
		}
		return err
	})
	require.Equal(t, len(given), fresh[0]+fresh[1]+fresh[2]+fresh[3])
	require.Equal(t, people, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_follow_up"))
	require.Equal(t, people,
		postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE receipt_failed AND delivered_at IS NOT NULL"))
}

// A receipt about a digest applies to each of its items.
func TestReceiptOfADigest(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)),
		roomtest.Decided("11", roomtest.Planned(notification.Email)), roomtest.Decided("12", roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1, digest_id = CASE WHEN user_id <> '12' THEN 'digest-1' END")
	r := roomtest.Bounce("r-1")
	r.DeliveryID = "digest-1"

	require.False(t, roomtest.Record(t, s, r)[0].Unknown)

	require.Equal(t, []string{"DEAD_LETTER " + roomtest.Mail, "DEAD_LETTER evt-1-staff11-EMAIL"}, roomtest.FollowUpsOf(t, s))
	require.Equal(t, []string{roomtest.Mail, "evt-1-staff11-EMAIL"}, postgrestest.List(t, s,
		"SELECT delivery_id FROM notification WHERE receipt_failed AND last_error = 'bounced: 550 no such user' ORDER BY id"))
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', receipt_failed = false WHERE user_id = '11'")
	require.Equal(t, 1, roomtest.BeginDigest(t, s, "digest-1").Sent, "a bounced item was sent")
}

// No attempt, no end of an attempt and no giving up changes the result of a receipt.
// Nothing is sent again. An operator's retry begins anew: receipts of the earlier message
// no longer count.
func TestReceiptIsFinal(t *testing.T) {
	t.Parallel()

	for _, receipt := range []notification.Receipt{roomtest.Bounce("r-1"), roomtest.Delivered("r-1")} {
		s := roomtest.New(t, roomtest.PlanMail)
		roomtest.Begin(t, s, roomtest.Mail, 0)
		roomtest.Record(t, s, receipt)
		was, told := roomtest.Delivery(t, s, roomtest.Mail), roomtest.FollowUpsOf(t, s)
		require.True(t, was.Sent, "the receipt proves that the message was sent")

		require.False(t, roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0].Due())
		roomtest.EndAttempt(t, s, 1, notification.OutcomeAmbiguous, "time-out")
		for _, status := range []notification.Status{notification.Failed, notification.Cancelled} {
			require.Equal(t, receipt.Status, roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Mail, status, "why"))(t))
		}
		require.Equal(t, was, roomtest.Delivery(t, s, roomtest.Mail))
		require.Equal(t, told, roomtest.FollowUpsOf(t, s), "the follow-up is stored once")
		require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
	}

	unsent := roomtest.New(t, roomtest.PlanMail)
	roomtest.Record(t, unsent, roomtest.Delivered("r-1"))
	require.Equal(t, "PENDING", roomtest.Delivery(t, unsent, roomtest.Mail).Status,
		"without an attempt, the receipt belongs to another installation")

	s := roomtest.New(t, roomtest.SendMail)
	roomtest.Record(t, s, roomtest.Bounce("r-1"))
	require.Equal(t, notification.Pending, roomtest.Reopen(t, s, roomtest.Anew("run-1", false)).Status)
	late := roomtest.Delivered("r-2")
	roomtest.Record(t, s, late)
	require.Equal(t, "PENDING", roomtest.Delivery(t, s, roomtest.Mail).Status)
	require.True(t, roomtest.Begin(t, s, roomtest.Mail, 1).Due())

	quick := roomtest.Delivered("r-3")
	quick.MessageID = "m-2"
	roomtest.Record(t, s, quick)
	roomtest.EndAs(t, s,
		notification.AttemptResult{DeliveryID: roomtest.Mail, Number: 2, Outcome: notification.OutcomeSent, ProviderID: "m-2"})
	late.ID = "r-4"
	roomtest.Record(t, s, late, roomtest.Bounce("r-5"))
	got := roomtest.Delivery(t, s, roomtest.Mail)
	require.Equal(t, roomtest.Row{Status: "DELIVERED", Attempts: 2, Title: got.Title, Body: got.Body, Address: got.Address,
		ProviderID: new("m-2"), Sent: true}, got)
	require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_receipt"), "all receipts are kept")
}

// A receipt wakes the escalation, once for all receipts that come together. If no
// escalation waits, it wakes nothing.
func TestReceiptWakesTheEscalation(t *testing.T) {
	t.Parallel()

	const eventType = "RESERVATION_REQUESTED"
	opened := notification.Receipt{Provider: "sendgrid", ID: "r-0", DeliveryID: roomtest.Mail, MessageID: "m", Word: "open", At: roomtest.Day}
	tests := []struct {
		name     string
		prepare  string
		rules    []postgrestest.Row
		receipts []notification.Receipt
		want     []string
	}{
		{name: "no escalation", receipts: []notification.Receipt{roomtest.Delivered("r-1")}},
		{name: "escalation at planning", prepare: "UPDATE notification SET escalates = true",
			receipts: []notification.Receipt{roomtest.Delivered("r-1")}, want: []string{"ESCALATION " + roomtest.Mail}},
		{
			name: "escalation configured later",
			rules: []postgrestest.Row{
				postgrestest.Route{EventType: eventType}, postgrestest.Route{EventType: eventType, Channel: notification.SMS},
				postgrestest.Escalation{EventType: eventType, Until: notification.UntilDelivered},
			},
			receipts: []notification.Receipt{roomtest.Delivered("r-1"), roomtest.Delivered("r-2"), roomtest.Bounce("r-3")},
			want:     []string{"DEAD_LETTER " + roomtest.Mail, "ESCALATION " + roomtest.Mail},
		},
		{name: "receipt that does not report arrival", prepare: "UPDATE notification SET escalates = true",
			receipts: []notification.Receipt{opened}},
	}
	s := roomtest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.SendMail(t, s)
			postgrestest.Exec(t, s, tt.prepare)
			postgrestest.Add(t, s.Pool, tt.rules...)
			roomtest.Record(t, s, tt.receipts...)
			require.ElementsMatch(t, tt.want, roomtest.FollowUpsOf(t, s))
		})
	}
}
