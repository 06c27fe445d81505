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
	return &digests{attempt: notification.DigestAttempt{
		Items: []notification.DigestItem{{DeliveryID: "d1", Attempt: n, Title: "Ada", Body: "Table for 4"}, {DeliveryID: "d2", Attempt: n + 4, Title: "Bob", Body: "good"}},
		Tried: notification.Tried{Begun: n, Ended: ended, Crashed: n - 1 - ended}, Message: notification.Message{DeliveryID: "digest-1", To: "ada@example.com"},
		Templates: []notification.Template{{EventType: "digest", Channel: "*", Locale: "en", Title: "{{len .Items}}", Body: "{{range .Items}}{{.title}},{{end}}"}},
	}}
}

func sendDigest(db *digests, mail activities.Sender) (activities.SendDigestResult, error) {
	a := &activities.Activities{Digests: db, Deliveries: db, DigestText: template.Digest, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
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
	db.attempt.Dropped = dropped
	result, err := sendDigest(db, mail)
	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{Items: 2, Dropped: dropped}, result)

	db, mail = &digests{attempt: notification.DigestAttempt{Dropped: dropped}}, &provider{}
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
		db, mail := &digests{attempt: notification.DigestAttempt{Sent: sentBefore}}, &provider{}
		result, err := sendDigest(db, mail)
		require.NoError(t, err)
		require.Equal(t, activities.SendDigestResult{Items: sentBefore}, result)
		require.Zero(t, mail.calls)
		require.Empty(t, db.results)
	}
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
