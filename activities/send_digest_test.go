package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/template"
)

// dueDigest is the n-th attempt at a digest of two mails, after ended ones that
// the provider failed.
func dueDigest(n, ended int) *digests {
	item := func(id string, more int, title, body string) notification.Attempt {
		return notification.Attempt{
			Status: notification.Pending, Number: n + more, Tried: notification.Tried{Begun: n + more, Ended: ended + more, Crashed: n - 1 - ended},
			Message: notification.Message{DeliveryID: id, EventID: "evt-" + id, To: "ada@example.com", Title: title, Body: body},
		}
	}
	return &digests{
		items: []notification.Attempt{item("d1", 0, "Ada", "Table for 4"), item("d2", 4, "Bob", "good")},
		digest: notification.Digest{
			Templates: []notification.Template{{EventType: "digest", Channel: "*", Locale: "en", Title: "{{len .Items}}", Body: "{{range .Items}}{{.title}},{{end}}"}},
		},
	}
}

func sendDigest(db *digests, mail activities.Sender) (activities.SendDigestResult, error) {
	a := &activities.Activities{Digests: db, Attempts: db, DigestText: template.Digest, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
	return run[activities.SendDigestResult](a, a.SendDigest, activities.SendDigestInput{DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3}})
}

func TestSendDigest(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(2, 1), &provider{}

	result, err := sendDigest(db, mail)

	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{Items: 2}, result)
	require.Equal(t, notification.Message{DeliveryID: "digest-1", To: "ada@example.com", Title: "2", Body: "Ada,Bob,"}, mail.message)
}

// What the rules do not allow any more is not listed; the digest is told why.
func TestSendDigestDropped(t *testing.T) {
	t.Parallel()

	dropped := map[string]string{"d3": "USER_DISABLED"}
	db, mail := dueDigest(1, 0), &provider{}
	db.digest.Dropped = dropped
	result, err := sendDigest(db, mail)
	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{Items: 2, Dropped: dropped}, result)

	db, mail = &digests{digest: notification.Digest{Dropped: dropped}}, &provider{}
	result, err = sendDigest(db, mail)
	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{Dropped: dropped}, result)
	require.Zero(t, mail.calls)

	a := &activities.Activities{Digests: db, Deliveries: db}
	gaveUp, err := run[activities.GiveUpDigestResult](a, a.GiveUpDigest, activities.GiveUpDigestInput{DigestID: "digest-1"})
	require.NoError(t, err)
	require.Equal(t, activities.GiveUpDigestResult{Dropped: dropped}, gaveUp)
}

// Where nothing is left to send, all was cancelled, or an attempt before sent it.
func TestSendDigestOfNothing(t *testing.T) {
	t.Parallel()

	for _, sentBefore := range []int{0, 3} {
		db, mail := &digests{digest: notification.Digest{Sent: sentBefore}}, &provider{}
		result, err := sendDigest(db, mail)
		require.NoError(t, err)
		require.Equal(t, activities.SendDigestResult{Items: sentBefore}, result)
		require.Zero(t, mail.calls)
		require.Empty(t, db.results)
	}
}

// Where an item has to wait for the end of quiet hours, or is leased to another sender, nothing
// is sent, and the other items are as they were.
func TestSendDigestHeld(t *testing.T) {
	t.Parallel()

	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	quiet, leased := dueDigest(1, 0), dueDigest(1, 0)
	quiet.items[0] = notification.Attempt{Status: notification.Pending, Verdict: notification.Verdict{NotBefore: until, Wait: "08:00 UTC: quiet hours"}}
	leased.items[0] = notification.Attempt{Status: notification.Pending, LeasedFor: time.Minute}
	mail := &provider{}

	result, err := sendDigest(quiet, mail)
	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{NotBefore: until, Wait: "08:00 UTC: quiet hours"}, result)
	require.Equal(t, quiet.items[1:], quiet.released)

	_, err = sendDigest(leased, mail)
	requireFailure(t, err, activities.AttemptLost, false, time.Minute)
	require.Equal(t, leased.items[1:], leased.released)
	require.Zero(t, mail.calls)
}

func TestGiveUpDigest(t *testing.T) {
	t.Parallel()

	db := &digests{}
	a := &activities.Activities{Digests: db, Deliveries: db}
	in := activities.GiveUpDigestInput{DigestID: "digest-1", Channel: notification.Email, Status: notification.Failed, Reason: "sendgrid refused: 400"}
	_, err := run[any](a, a.GiveUpDigest, in)
	require.NoError(t, err)
	require.Equal(t, "digest-1 FAILED sendgrid refused: 400", db.gaveUp)

	db.err = errors.New("connection reset")
	_, err = run[any](a, a.GiveUpDigest, in)
	requireFailure(t, err, "", false, 0)
}
