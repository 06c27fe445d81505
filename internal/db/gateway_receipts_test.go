package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
)

func record(t *testing.T, s *db.DB, given ...notification.Receipt) []notification.RecordedReceipt {
	t.Helper()
	return must(receipts.On(s).RecordReceipts(t.Context(), given))(t)
}

// followUpsOf returns the follow-ups of deliveries.
func followUpsOf(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT kind || ' ' || delivery_id FROM delivery_follow_up ORDER BY delivery_id, kind")
}

// sendMail sends one mail to staff 10, whose provider id is m.
func sendMail(t *testing.T, s *db.DB) {
	t.Helper()
	planMail(t, s)
	begin(t, s, mail, 0)
	endAs(t, s, notification.AttemptResult{DeliveryID: mail, Number: 1, Outcome: notification.OutcomeSent, ProviderID: "m"})
}

func bounce(id string) notification.Receipt {
	return notification.Receipt{
		Provider: "sendgrid", ID: id, DeliveryID: mail, MessageID: "m", Word: "bounce", At: day,
		Status: notification.Failed, Detail: "550 no such user", Suppress: notification.SuppressedBounce, Address: "ada@example.com",
	}
}

func delivered(id string) notification.Receipt {
	return notification.Receipt{Provider: "sendgrid", ID: id, DeliveryID: mail, MessageID: "m", Word: "delivered", At: day, Status: notification.Delivered}
}

// Recording returns a result for each receipt. A repeat, also in one batch, changes
// nothing. A receipt of an unknown delivery is not kept.
func TestRecordReceipts(t *testing.T) {
	t.Parallel()

	s := newWith(t, sendMail)
	postgrestest.Exec(t, s, "UPDATE notification SET sent_at = now() - interval '1 hour'")
	stranger := delivered("r-3")
	stranger.DeliveryID = "evt-404-staff10-EMAIL"

	recorded := record(t, s, stranger, delivered("r-1"), delivered("r-1"), bounce("r-2"))

	require.Equal(t, notification.RecordedReceipt{Unknown: true}, recorded[0])
	for i, repeated := range map[int]bool{1: false, 2: true, 3: false} {
		require.Equal(t, repeated, recorded[i].Repeated, i)
		require.Equal(t, notification.Email, recorded[i].Channel)
		require.Equal(t, time.Hour, recorded[i].Age.Truncate(time.Hour))
	}
	require.Equal(t, []string{"sendgrid r-1 delivered DELIVERED ", "sendgrid r-2 bounce FAILED 550 no such user"}, postgrestest.List(t, s, `
		SELECT concat_ws(' ', provider, receipt_id, status, outcome, coalesce(detail, ''))
		FROM   delivery_receipt
		WHERE  delivery_id = '`+mail+`' AND message_id = 'm' AND at = '2026-06-01 10:00Z'
		ORDER BY receipt_id`))
	require.Equal(t, []string{"DEAD_LETTER " + mail}, followUpsOf(t, s))

	postgrestest.Exec(t, s, "DELETE FROM recipient_suppression")
	postgrestest.Exec(t, s, "DELETE FROM delivery_follow_up")
	was := delivery(t, s, mail)
	require.True(t, record(t, s, bounce("r-2"))[0].Repeated)
	require.Equal(t, was, delivery(t, s, mail))
	require.Empty(t, followUpsOf(t, s))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"), "a suppression that an operator removed stays removed")
	require.Empty(t, record(t, s))
}

// A receipt is stored with all its consequences, or not at all.
func TestReceiptsAreAllOrNothing(t *testing.T) {
	t.Parallel()

	s := newWith(t, sendMail)
	postgrestest.Exec(t, s, "ALTER TABLE recipient_suppression RENAME TO away")
	require.Error(t, errOf(receipts.On(s).RecordReceipts(t.Context(), []notification.Receipt{bounce("r-1")})))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_receipt"))
	require.Equal(t, "SENT", delivery(t, s, mail).Status)

	postgrestest.Exec(t, s, "ALTER TABLE away RENAME TO recipient_suppression")
	require.False(t, record(t, s, bounce("r-1"))[0].Repeated)
	require.Equal(t, "FAILED", delivery(t, s, mail).Status)
	require.Equal(t, []string{"DEAD_LETTER " + mail}, followUpsOf(t, s))
}

// Gateways that get the same receipts at once, each in a different order, store each once
// and do not deadlock.
func TestReceiptsOnSeveralGateways(t *testing.T) {
	t.Parallel()

	s := newWith(t)
	const people, gateways = 20, 4
	var given []notification.Receipt
	for n := range people {
		user := fmt.Sprint(n)
		savePlan(t, s, decided(user, planned(notification.Email)))
		r := bounce("r-" + user)
		r.DeliveryID = "evt-1-staff" + user + "-EMAIL"
		given = append(given, r, delivered("d-"+user))
		given[len(given)-1].DeliveryID = r.DeliveryID
	}
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1")
	var fresh [gateways]int
	sideBySide(t, gateways, func(gateway int) error {
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
	require.Equal(t, people, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE receipt_failed AND delivered_at IS NOT NULL"))
}

// A receipt about a digest applies to each of its items.
func TestReceiptOfADigest(t *testing.T) {
	t.Parallel()

	s := newWith(t)
	savePlan(t, s, decided("10", planned(notification.Email)), decided("11", planned(notification.Email)), decided("12", planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1, digest_id = CASE WHEN user_id <> '12' THEN 'digest-1' END")
	r := bounce("r-1")
	r.DeliveryID = "digest-1"

	require.False(t, record(t, s, r)[0].Unknown)

	require.Equal(t, []string{"DEAD_LETTER " + mail, "DEAD_LETTER evt-1-staff11-EMAIL"}, followUpsOf(t, s))
	require.Equal(t, []string{mail, "evt-1-staff11-EMAIL"}, postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE receipt_failed AND last_error = 'bounced: 550 no such user' ORDER BY id"))
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', receipt_failed = false WHERE user_id = '11'")
	require.Equal(t, 1, beginDigest(t, s, "digest-1").Sent, "a bounced item was sent")
}

// No attempt, no end of an attempt and no giving up changes the result of a receipt.
// Nothing is sent again. An operator's retry begins anew: receipts of the earlier message
// no longer count.
func TestReceiptIsFinal(t *testing.T) {
	t.Parallel()

	for _, receipt := range []notification.Receipt{bounce("r-1"), delivered("r-1")} {
		s := newWith(t, planMail)
		begin(t, s, mail, 0)
		record(t, s, receipt)
		was, told := delivery(t, s, mail), followUpsOf(t, s)
		require.True(t, was.Sent, "the receipt proves that the message was sent")

		require.False(t, beginAs(t, s, notification.Begin{DeliveryIDs: []string{mail}})[0].Due())
		endAttempt(t, s, 1, notification.OutcomeAmbiguous, "time-out")
		for _, status := range []notification.Status{notification.Failed, notification.Cancelled} {
			require.Equal(t, receipt.Status, must(attempt.On(s).GiveUp(t.Context(), mail, status, "why"))(t))
		}
		require.Equal(t, was, delivery(t, s, mail))
		require.Equal(t, told, followUpsOf(t, s), "the follow-up is stored once")
		require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
	}

	unsent := newWith(t, planMail)
	record(t, unsent, delivered("r-1"))
	require.Equal(t, "PENDING", delivery(t, unsent, mail).Status, "without an attempt, the receipt belongs to another installation")

	s := newWith(t, sendMail)
	record(t, s, bounce("r-1"))
	require.Equal(t, notification.Pending, reopen(t, s, anew("run-1", false)).Status)
	late := delivered("r-2")
	record(t, s, late)
	require.Equal(t, "PENDING", delivery(t, s, mail).Status)
	require.True(t, begin(t, s, mail, 1).Due())

	quick := delivered("r-3")
	quick.MessageID = "m-2"
	record(t, s, quick)
	endAs(t, s, notification.AttemptResult{DeliveryID: mail, Number: 2, Outcome: notification.OutcomeSent, ProviderID: "m-2"})
	late.ID = "r-4"
	record(t, s, late, bounce("r-5"))
	got := delivery(t, s, mail)
	require.Equal(t, row{Status: "DELIVERED", Attempts: 2, Title: got.Title, Body: got.Body, Address: got.Address, ProviderID: ptr("m-2"), Sent: true}, got)
	require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_receipt"), "all receipts are kept")
}

// A receipt wakes the escalation, once for all receipts that come together. If no
// escalation waits, it wakes nothing.
func TestReceiptWakesTheEscalation(t *testing.T) {
	t.Parallel()

	opened := notification.Receipt{Provider: "sendgrid", ID: "r-0", DeliveryID: mail, MessageID: "m", Word: "open", At: day}
	tests := []struct {
		name     string
		prepare  string
		receipts []notification.Receipt
		want     []string
	}{
		{name: "no escalation", receipts: []notification.Receipt{delivered("r-1")}},
		{name: "escalation at planning", prepare: "UPDATE notification SET escalates = true", receipts: []notification.Receipt{delivered("r-1")}, want: []string{"ESCALATION " + mail}},
		{
			name:     "escalation configured later",
			prepare:  `INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL'), ('RESERVATION_REQUESTED', 'SMS'); ` + insertEscalation + `('RESERVATION_REQUESTED', 'EMAIL', 'SMS', '5 minutes', 'DELIVERED')`,
			receipts: []notification.Receipt{delivered("r-1"), delivered("r-2"), bounce("r-3")},
			want:     []string{"DEAD_LETTER " + mail, "ESCALATION " + mail},
		},
		{name: "receipt that does not report arrival", prepare: "UPDATE notification SET escalates = true", receipts: []notification.Receipt{opened}},
	}
	s := newWith(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			empty(t, s)
			sendMail(t, s)
			postgrestest.Exec(t, s, tt.prepare)
			record(t, s, tt.receipts...)
			require.ElementsMatch(t, tt.want, followUpsOf(t, s))
		})
	}
}
