package attempt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// cappedMails plans n mails to one person, of an event each. A cap allows so many a day.
func cappedMails(t *testing.T, n, atMost int) (*db.DB, []string) {
	t.Helper()
	s, ids := mailsTo(t, n)
	postgrestest.Exec(t, s, "UPDATE notification SET user_id = '0', event_id = delivery_id")
	postgrestest.Add(t, s.Pool, postgrestest.Cap{AtMost: atMost, Per: 24 * time.Hour})
	return s, ids
}

// begunOf returns how many attempts began, and how many the caps dropped.
func begunOf(attempts []notification.Attempt) (begun, dropped int) {
	for _, a := range attempts {
		if a.Number > 0 {
			begun++
		}
		if a.Dropped == string(notification.DecisionCapped) {
			dropped++
		}
	}
	return begun, dropped
}

// The attempts of one batch count each other.
func TestCapOfABatch(t *testing.T) {
	t.Parallel()

	s, ids := cappedMails(t, 5, 2)

	begun, dropped := begunOf(roomtest.BeginBatch(t, s, ids))

	require.Equal(t, []int{2, 3}, []int{begun, dropped})
	require.Equal(t, 3, postgrestest.Get[int](t, s,
		"SELECT count(*) FROM notification WHERE status = 'CANCELLED' AND last_error = 'CAPPED' AND attempt_count = 0"))
}

// A digest whose items have left it was not sent, so it does not count: its items were cancelled, retried
// alone, or joined another digest.
func TestCapIgnoresEmptyDigests(t *testing.T) {
	t.Parallel()

	for name, leave := range map[string]string{
		"cancelled":      "UPDATE notification SET status = 'CANCELLED', last_error = 'by an operator', digest_id = NULL",
		"retried alone":  "UPDATE notification SET digest_id = NULL",
		"another digest": "UPDATE notification SET digest_id = 'digest-2'",
	} {
		s, ids := cappedMails(t, 2, 1)
		postgrestest.Exec(t, s, "UPDATE notification SET digest_id = 'digest-1' WHERE delivery_id = $1", ids[0])
		begun := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[:1], DigestID: "digest-1"})
		require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), begun))
		postgrestest.Exec(t, s, leave+" WHERE delivery_id = $1", ids[0])

		second, dropped := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[1:]}))
		require.Equal(t, []int{1, 0}, []int{second, dropped}, name)
	}
}

// However many attempts begin at once, the limit holds.
func TestCapOfAttemptsAtOnce(t *testing.T) {
	t.Parallel()

	const mails, atMost = 40, 3
	s, ids := cappedMails(t, mails, atMost)
	attempts := make([][]notification.Attempt, mails)
	roomtest.SideBySide(t, mails, func(i int) (err error) {
		attempts[i], err = attempt.On(s).BeginAttempts(t.Context(),
			notification.Begin{DeliveryIDs: ids[i : i+1], Owner: ids[i], Lease: time.Minute})
		return err
	})

	begun, _ := begunOf(slices.Concat(attempts...))
	require.Equal(t, atMost, begun)
}

// A digest is one message. Over the limit, none of its items is sent.
func TestCapOfADigest(t *testing.T) {
	t.Parallel()

	s, ids := cappedMails(t, 4, 1)

	postgrestest.Exec(t, s, "UPDATE notification SET digest_id = 'digest-1' WHERE delivery_id = ANY ($1)", ids[:2])
	begun, dropped := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[:2], DigestID: "digest-1"}))
	require.Equal(t, []int{2, 0}, []int{begun, dropped})
	begun, dropped = begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[2:], DigestID: "digest-2"}))
	require.Equal(t, []int{0, 2}, []int{begun, dropped})
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM counted_message WHERE message_id = 'digest-1'"))
}

// A digest counts while one of its items is sent or may be sent. A digest that failed does not count.
func TestCapIgnoresFailedDigests(t *testing.T) {
	t.Parallel()

	for sent, want := range map[int]int{0: 1, 1: 0} {
		s, ids := cappedMails(t, 3, 1)
		postgrestest.Exec(t, s, "UPDATE notification SET digest_id = 'digest-1' WHERE delivery_id = ANY ($1)", ids[:2])
		begun, _ := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[:2], DigestID: "digest-1"}))
		require.Equal(t, 2, begun)
		for _, id := range ids[:sent] {
			roomtest.SetStatus(t, s, id, notification.Sent)
		}
		roomtest.Must(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Failed, "why"))(t)

		begun, _ = begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[2:]}))
		require.Equal(t, want, begun, "%d items were sent", sent)
	}
}

// A message counts once, however often it is tried. A failed message does not count.
func TestCapCountsAMessageOnce(t *testing.T) {
	t.Parallel()

	s, ids := cappedMails(t, 2, 1)
	for range 3 {
		begun, _ := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[:1]}))
		require.Equal(t, 1, begun)
		roomtest.RunOut(t, s)
	}
	roomtest.SetStatus(t, s, ids[0], notification.Failed)

	begun, _ := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[1:]}))
	require.Equal(t, 1, begun)
}

// Messages over the limit of a cap that defers wait in order, each until there is room for it.
func TestCapDefersInOrder(t *testing.T) {
	t.Parallel()

	s, ids := cappedMails(t, 5, 2)
	postgrestest.Exec(t, s, "UPDATE frequency_cap SET per = '1 hour', action = 'DEFER'")
	var at []time.Time
	for _, id := range ids {
		begun := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{id}})[0]
		require.Equal(t, notification.Pending, begun.Status)
		at = append(at, begun.NotBefore)
	}

	require.Zero(t, at[0])
	require.Zero(t, at[1])
	sent := postgrestest.Get[time.Time](t, s, "SELECT at FROM counted_message WHERE message_id = $1", ids[0])
	require.WithinDuration(t, sent.Add(time.Hour), at[2], 0)
	require.False(t, at[3].Before(at[2]), "the fourth waits for the second")
	require.WithinDuration(t, at[2].Add(time.Hour), at[4], 0)

	// A repeated request does not move the message behind the others.
	require.WithinDuration(t, at[2], roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[2:3]})[0].NotBefore, time.Millisecond)

	// If the message's workflow is lost, the row tells the reason of the wait.
	require.Contains(t, roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[2:3]})[0].Wait, notification.WaitCap)
}

// Mandatory messages and an operator's orders are sent over the limit. They count.
func TestCapAllowsMandatoryMessages(t *testing.T) {
	t.Parallel()

	s, ids := cappedMails(t, 4, 1)
	postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET mandatory = true")
	begun, _ := begunOf(roomtest.BeginBatch(t, s, ids[:2]))
	require.Equal(t, 2, begun)

	postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET mandatory = false")
	begun, _ = begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[2:3], Ordered: true}))
	require.Equal(t, 1, begun)
	_, dropped := begunOf(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: ids[3:]}))
	require.Equal(t, 1, dropped)
	require.Equal(t, 3, postgrestest.Get[int](t, s, "SELECT count(*) FROM counted_message"))
}
