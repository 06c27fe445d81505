package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

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

	db, mail := dueDigest(2, 1), &letterbox{provider: provider{receipt: notification.Receipt{ProviderID: "sg-1", Status: 202, DeadDevices: []string{"old"}}}}

	result, err := sendDigest(db, mail)

	require.NoError(t, err)
	require.Equal(t, activities.SendDigestResult{Items: 2}, result)
	require.Equal(t, []notification.Message{{DeliveryID: "digest-1", To: "ada@example.com", Title: "2", Body: "Ada,Bob,"}}, mail.messages)
	require.Equal(t, []notification.AttemptResult{{
		DigestID: "digest-1", Items: []notification.ItemAttempt{{DeliveryID: "d1", Attempt: 2}, {DeliveryID: "d2", Attempt: 6}},
		Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", DeadDevices: []string{"old"},
	}}, db.results)
}

// letterbox keeps what it is given.
type letterbox struct {
	provider
	messages []notification.Message
}

func (l *letterbox) Send(ctx context.Context, message notification.Message) (notification.Receipt, error) {
	l.messages = append(l.messages, message)
	return l.provider.Send(ctx, message)
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

func TestSendDigestFailure(t *testing.T) {
	t.Parallel()

	busy := providerError(notification.Busy, 429, time.Hour)
	tests := []struct {
		name         string
		begun, ended int
		err          error
		wantType     string
		permanent    bool
		delay        time.Duration
		outcome      notification.AttemptOutcome
		detail       string
		calls        int
	}{
		{"busy", 1, 0, busy, "Busy", false, time.Hour, notification.OutcomeBusy, "sendgrid is busy: 429", 1},
		{"the last of three", 3, 2, busy, activities.AttemptsExhausted, true, 0, notification.OutcomeBusy, "sendgrid is busy: 429", 1},
		{"after crashes", 7, 1, busy, "Busy", false, time.Hour, notification.OutcomeBusy, "sendgrid is busy: 429", 1},
		{"refused", 1, 0, providerError(notification.Refused, 400, 0), "Refused", true, 0, notification.OutcomeRefused, "sendgrid refused: 400", 1},
		{"not the provider's doing", 3, 2, errors.New("a bug"), "", false, 0, notification.OutcomeError, "a bug", 1},
		{"after ten crashes", 11, 0, nil, activities.AttemptsExhausted, true, 0, notification.OutcomeError, "10 attempts ended without a result", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, mail := dueDigest(tt.begun, tt.ended), &provider{err: tt.err, receipt: notification.Receipt{ProviderID: "none"}}
			_, err := sendDigest(db, mail)

			requireFailure(t, err, tt.wantType, tt.permanent, tt.delay)
			require.Equal(t, tt.calls, mail.calls)
			require.Len(t, db.results, 1)
			require.Equal(t, tt.outcome, db.results[0].Outcome)
			require.Equal(t, tt.detail, db.results[0].Detail)
			require.Empty(t, db.results[0].ProviderID)
			require.Len(t, db.results[0].Items, 2)
		})
	}
}

func TestSendDigestWithoutWords(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(1, 0), &provider{}
	db.attempt.Templates = nil
	_, err := sendDigest(db, mail)
	requireFailure(t, err, activities.NoText, true, 0)
	require.Equal(t, "no template for digest/EMAIL/", db.results[0].Detail)
	require.Zero(t, mail.calls)

	db = dueDigest(1, 0)
	a := &activities.Activities{Digests: db, Deliveries: db}
	_, err = run[activities.SendDigestResult](a, a.SendDigest, activities.SendDigestInput{Key: reviewMails})
	requireFailure(t, err, activities.ChannelNotConfigured, true, 0)
	require.Len(t, db.results, 1)

	_, err = sendDigest(&digests{err: errors.New("connection reset")}, mail)
	requireFailure(t, err, "", false, 0)
}

// To send again would be a duplicate for all: what could not be written down is
// handed to the workflow, without the tokens.
func TestSendDigestUnrecorded(t *testing.T) {
	t.Parallel()

	db := dueDigest(1, 0)
	db.endErr = errors.New("connection reset")
	result, err := sendDigest(db, &provider{receipt: notification.Receipt{ProviderID: "sg-1", Status: 202, DeadDevices: []string{"old"}}})

	require.NoError(t, err)
	want := notification.AttemptResult{
		DigestID: "digest-1", Items: []notification.ItemAttempt{{DeliveryID: "d1", Attempt: 1}, {DeliveryID: "d2", Attempt: 5}},
		Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1",
	}
	require.Equal(t, activities.SendDigestResult{Items: 2, Unrecorded: &want}, result)

	a := &activities.Activities{Digests: db, Deliveries: db}
	_, err = run[any](a, a.RecordDigest, *result.Unrecorded)
	requireFailure(t, err, "", false, 0)
	db.endErr = nil
	_, err = run[any](a, a.RecordDigest, *result.Unrecorded)
	require.NoError(t, err)
	require.Equal(t, want, db.results[len(db.results)-1])
}

// The outcome is written down even when the activity was cancelled in the call.
func TestSendDigestCancelledInTheCall(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	db, mail := dueDigest(1, 0), &provider{during: func(ctx context.Context) {
		cancel()
		<-ctx.Done()
	}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	a := &activities.Activities{Digests: db, Deliveries: db, DigestText: template.Digest, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
	env.RegisterActivity(a)

	_, err := env.ExecuteActivity(a.SendDigest, activities.SendDigestInput{DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3}})

	require.NoError(t, err)
	require.Len(t, db.results, 1)
	require.Equal(t, notification.OutcomeSent, db.results[0].Outcome)
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
