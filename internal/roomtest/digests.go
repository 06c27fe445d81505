package roomtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

var ReviewMails = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email,
	EventType: "REVIEW_POSTED"}

// AddItems adds the deliveries of evt-first to evt-last, which wait for a digest of a kind. Each text
// has size bytes, half of them in the title and half in the body.
func AddItems(t *testing.T, on postgrestest.Executor, key notification.DigestKey, first, last, size int) {
	t.Helper()
	event := fmt.Sprintf("'evt-' || %d + i", first-1)
	postgrestest.AddMany(t, on, last-first+1, postgrestest.Delivery{
		EventType: key.EventType, UserType: key.UserType, UserID: key.UserID, Channel: key.Channel,
		Title: strings.Repeat("t", size/2), Body: strings.Repeat("b", size/2), Strategy: notification.Aggregate,
	}, postgrestest.Expressions{
		"event_id": event, "delivery_id": fmt.Sprintf("%s || '-staff%s-%s'", event, key.UserID,
			key.Channel), "recipient_address": fmt.Sprintf("'to-' || %d + i", first-1),
	})
}

// Item returns the delivery of evt-n to staff 10 by mail.
func Item(n int) string { return "evt-" + strconv.Itoa(n) + "-staff10-EMAIL" }

// WaitingItems plans n deliveries that wait for a digest of review mails.
func WaitingItems(n int) func(*testing.T, *db.DB) {
	return func(t *testing.T, s *db.DB) {
		t.Helper()
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Email: "to-10"})
		AddItems(t, s.Pool, ReviewMails, 1, n, 10)
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
