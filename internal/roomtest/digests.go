package roomtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

var ReviewMails = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}

// InsertItems inserts deliveries of evt-i that wait for a digest of a kind. The text has $7 bytes,
// half of them in the title and half in the body.
const InsertItems = `
	INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, strategy)
	SELECT 'evt-' || i, $4, $1, $2, $3, 'evt-' || i || '-staff' || $2 || '-' || $3, repeat('t', $7 / 2), repeat('b', $7 / 2), 'to-' || i, 'AGGREGATE'
	FROM   generate_series($5::int, $6) AS i
	ORDER BY i`

// AddItems adds the deliveries of evt-first to evt-last.
func AddItems(t *testing.T, s *db.DB, key notification.DigestKey, first, last, size int) {
	t.Helper()
	postgrestest.Exec(t, s, InsertItems, key.UserType, key.UserID, key.Channel, key.EventType, first, last, size)
}

// Item returns the delivery of evt-n to staff 10 by mail.
func Item(n int) string { return "evt-" + strconv.Itoa(n) + "-staff10-EMAIL" }

// WaitingItems plans n deliveries that wait for a digest of review mails.
func WaitingItems(n int) func(*testing.T, *db.DB) {
	return func(t *testing.T, s *db.DB) {
		t.Helper()
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Email: "to-10"})
		AddItems(t, s, ReviewMails, 1, n, 10)
	}
}

// SealItems plans n deliveries that digest-1 lists.
func SealItems(n int) func(*testing.T, *db.DB) {
	return func(t *testing.T, s *db.DB) {
		t.Helper()
		WaitingItems(n)(t, s)
		require.Len(t, Seal(t, s, "digest-1", ReviewMails).Items, n)
	}
}

func Seal(t *testing.T, s *db.DB, id string, key notification.DigestKey) notification.SealedDigest {
	t.Helper()
	return SealFor(t, s, notification.Sealing{DigestID: id, Key: key})
}

// SealFor seals a digest with a window of five minutes, of any size unless the order has a limit.
func SealFor(t *testing.T, s *db.DB, in notification.Sealing) notification.SealedDigest {
	t.Helper()
	in.Window.Length = 5 * time.Minute
	if in.Fits == nil {
		in.Fits = func(notification.Digest, []notification.DigestItem) bool { return true }
	}
	return Must(attempt.On(s).SealDigest(t.Context(), in))(t)
}

// DigestAttempt is an attempt at a digest, as the activity makes it.
type DigestAttempt struct {
	notification.Digest
	Begun []notification.Attempt
}

// Message returns the last item's message.
func (a DigestAttempt) Message() notification.Message { return a.Begun[len(a.Begun)-1].Message }

func BeginDigest(t *testing.T, s *db.DB, id string, of ...notification.DigestKey) DigestAttempt {
	t.Helper()
	RunOut(t, s)
	ids := Must(attempt.On(s).DigestItems(t.Context(), id))(t)
	var begun DigestAttempt
	for _, item := range BeginAs(t, s, notification.Begin{DeliveryIDs: ids, DigestID: id}) {
		if item.Number > 0 {
			begun.Begun = append(begun.Begun, item)
		}
	}
	begun.Digest = Must(attempt.On(s).ReadDigest(t.Context(), id, append(of, ReviewMails)[0]))(t)
	return begun
}

var DigestBusy = notification.AttemptResult{Outcome: notification.OutcomeBusy, ProviderStatus: 429, Detail: "sendgrid is busy: 429"}

// EndDigest ends an attempt at digest-1 for all items that it listed.
func EndDigest(t *testing.T, s *db.DB, begun DigestAttempt, result notification.AttemptResult) {
	t.Helper()
	result.DigestID = "digest-1"
	for _, item := range begun.Begun {
		result.Items = append(result.Items, notification.ItemAttempt{DeliveryID: item.Message.DeliveryID, Attempt: item.Number})
	}
	EndAs(t, s, result)
}
