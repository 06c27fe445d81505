package receipts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// said holds receipts about one delivery, whose message is m. The receipts about the
// message "old" came after a retry.
var said = []notification.Receipt{
	{MessageID: "m", Word: "delivered", At: roomtest.Day.Add(5 * time.Minute), Status: notification.Delivered},
	{MessageID: "m", Word: "bounce", At: roomtest.Day.Add(7 * time.Minute), Status: notification.Failed, Detail: "550 no such user",
		Suppress: notification.SuppressedBounce},
	{MessageID: "m", Word: "dropped", At: roomtest.Day.Add(3 * time.Minute), Status: notification.Failed, Detail: "Spam Content"},
	{MessageID: "m", Word: "deferred", At: roomtest.Day.Add(time.Minute), Detail: "451 later"},
	{MessageID: "old", Word: "delivered", At: roomtest.Day, Status: notification.Delivered},
	{MessageID: "old", Word: "bounce", At: roomtest.Day, Status: notification.Failed, Detail: "old"},
}

const (
	arrives, bounces, isDropped = 0, 1, 2
	isRecorded                  = 6 // no receipt: the end of the attempt
)

// history is one delivery, and the receipts about it.
type history struct {
	id     string
	before string // the delivery's status; RECEIPT: FAILED by a receipt
	subset int    // bits: which receipts of said, and whether the end of its attempt is recorded
	order  []int  // the order of the receipts, some of them twice
}

func (h history) has(n int) bool { return h.subset&(1<<n) != 0 }

// histories returns all combinations of receipts for a delivery in each status, in a random
// order.
func histories() []history {
	var all []history
	for _, before := range []string{"PENDING", "CANCELLED", "SENT", "DELIVERED", "FAILED", "RECEIPT"} {
		for subset := range 1 << 7 {
			h := history{id: fmt.Sprintf("d-%d", len(all)), before: before, subset: subset}
			for n := range 7 {
				for times := rand.IntN(2); h.has(n) && times >= 0; times-- {
					h.order = append(h.order, n)
				}
			}
			rand.Shuffle(len(h.order), func(i, j int) { h.order[i], h.order[j] = h.order[j], h.order[i] })
			all = append(all, h)
		}
	}
	return all
}

// ended holds the columns to check at the end.
type ended struct {
	Status        string
	ReceiptFailed bool
	LastError     string
	Sent          bool
	DeliveredAt   time.Time
	Receipts      int
	DeadLetters   int
	Escalates     bool
	Suppressed    string
}

// confirms reports whether the first receipt of a failure finds the delivery FAILED.
func (h history) confirms() bool {
	first := slices.IndexFunc(h.order, func(n int) bool { return slices.Contains([]int{arrives, bounces, isDropped, isRecorded}, n) })
	return h.before == "FAILED" && (h.order[first] == bounces || h.order[first] == isDropped)
}

// end returns the result for every order. Only the dead letter of an earlier failure
// depends on it.
func (h history) end() ended {
	counts := h.has(arrives) || h.has(bounces) || h.has(isDropped)
	e := ended{Escalates: counts}
	for n := range said {
		if h.has(n) {
			e.Receipts++
		}
	}
	e.ReceiptFailed = h.before == "RECEIPT" || h.has(bounces) || h.has(isDropped)
	if e.ReceiptFailed && h.before != "RECEIPT" && !h.confirms() {
		e.DeadLetters = 1
	}
	switch {
	case h.has(isDropped):
		e.Status, e.LastError = "FAILED", "dropped: Spam Content"
	case h.has(bounces):
		e.Status, e.LastError = "FAILED", "bounced: 550 no such user"
	case h.before == "RECEIPT":
		e.Status, e.LastError = "FAILED", "before"
	case h.has(arrives) || h.before == "DELIVERED":
		e.Status = "DELIVERED"
	case h.has(isRecorded) || h.before == "SENT":
		e.Status = "SENT"
	default:
		e.Status = h.before
		if h.before != "PENDING" {
			e.LastError = "before"
		}
	}
	e.Sent = e.Status == "SENT" || e.Status == "DELIVERED" || e.ReceiptFailed
	if h.has(arrives) {
		e.DeliveredAt = said[arrives].At
	} else if h.before == "DELIVERED" {
		e.DeliveredAt = roomtest.Day.Add(6 * time.Minute)
	}
	if h.has(bounces) {
		e.Suppressed = "2026-06-01 10:07 550 no such user"
	}
	return e
}

// A day's receipts, in any order and some of them twice, always lead to the same status. The end
// of the attempt, recorded anywhere among them, does not change that.
func TestReceiptsInEveryOrder(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	all := histories()
	for _, h := range all {
		h.add(t, s)
	}
	for step := range 14 {
		var given []notification.Receipt
		for _, h := range all {
			switch {
			case step >= len(h.order):
			case h.order[step] == isRecorded:
				roomtest.EndAs(t, s,
					notification.AttemptResult{DeliveryID: h.id, Number: 1, Owner: "sender", Outcome: notification.OutcomeSent, ProviderID: "m"})
			default:
				r := said[h.order[step]]
				r.Address = h.id + "@example.com"
				r.Provider, r.DeliveryID, r.ID = "sendgrid", h.id, fmt.Sprintf("%s-%d", h.id, h.order[step])
				given = append(given, r)
			}
		}
		roomtest.Must(receipts.On(s).RecordReceipts(t.Context(), given))(t)
	}
	found := ends(t, s)
	for _, h := range all {
		require.Equal(t, h.end(), found[h.id], "%s, then %v", h.before, h.order)
	}
}

// add writes the delivery in its earlier state.
func (h history) add(t *testing.T, s *db.DB) {
	t.Helper()
	row := postgrestest.Delivery{
		ID: h.id, EventID: h.id, UserID: "1", Address: h.id + "@example.com", Attempts: 1, Escalates: true, Status: notification.Status(h.before),
	}
	underWay := postgrestest.Expressions{"attempt_owner": "'sender'", "attempt_until": "now() + interval '1 hour'", "attempt_began": "now()"}
	switch h.before {
	case "CANCELLED", "FAILED":
		row.LastError = "before"
	case "RECEIPT":
		row.Status, row.ReceiptFailed, row.LastError = notification.Failed, true, "before"
		fallthrough
	case "SENT":
		row.ProviderID, row.SentAt, underWay = "m", roomtest.Day, nil
	case "DELIVERED":
		row.ProviderID, row.SentAt, row.DeliveredAt, underWay = "m", roomtest.Day, roomtest.Day.Add(6*time.Minute), nil
	}
	postgrestest.AddMany(t, s.Pool, 1, row, underWay)
	if row.ProviderID != "" {
		postgrestest.Add(t, s.Pool, postgrestest.Attempt{DeliveryID: h.id, Outcome: notification.OutcomeSent})
	}
	postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: h.id, Again: true, StatusBefore: notification.Sent, IDBefore: "old"})
}

func ends(t *testing.T, s *db.DB) map[string]ended {
	t.Helper()
	found := map[string]ended{}
	var id string
	var e ended
	fields := []any{&id, &e.Status, &e.ReceiptFailed, &e.LastError, &e.Sent, &e.DeliveredAt, &e.Receipts, &e.DeadLetters,
		&e.Escalates, &e.Suppressed}
	require.NoError(t, db.Each(t.Context(), s.Pool, "read ends", fields, func() {
		e.DeliveredAt = e.DeliveredAt.UTC()
		found[id] = e
	}, `
		SELECT n.delivery_id, n.status, n.receipt_failed, coalesce(n.last_error, ''), n.sent_at IS NOT NULL,
		       coalesce(n.delivered_at, '0001-01-01 00:00Z'),
		       (SELECT count(*) FROM delivery_receipt r WHERE r.delivery_id = n.delivery_id),
		       (SELECT count(*) FROM delivery_follow_up f WHERE f.delivery_id = n.delivery_id AND f.kind = 'DEAD_LETTER'),
		       EXISTS (SELECT FROM delivery_follow_up f WHERE f.delivery_id = n.delivery_id AND f.kind = 'ESCALATION'),
		       coalesce((
		           SELECT to_char(r.since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI ') || coalesce(r.detail, '')
		           FROM   recipient_suppression r
		           WHERE  (r.channel, r.address_hash, r.reason) = ('EMAIL', sha256(n.recipient_address::bytea), 'BOUNCE')), '')
		FROM   notification n`))
	return found
}
