package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/template"
)

// message is a message for which an attempt is due: the delivery d1, or a digest of
// d1 and d2. The same code sends both, so each test here runs for both.
type message struct {
	*deliveries          // records the attempt
	digest      *digests // nil: the message is a delivery
}

// forBoth runs a test for the n-th attempt at each kind of message. The provider failed
// `ended` earlier attempts; the others crashed.
func forBoth(t *testing.T, n, ended int, test func(t *testing.T, m *message)) {
	t.Helper()
	t.Run("delivery", func(t *testing.T) {
		t.Parallel()

		test(t, &message{deliveries: due(n, ended)})
	})
	t.Run("digest", func(t *testing.T) {
		t.Parallel()

		digest := dueDigest(n, ended)
		test(t, &message{deliveries: &digest.deliveries, digest: digest})
	})
}

var policy = activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3}

// attempt makes the attempt, and returns its result if it could not be recorded.
func (m *message) attempt(
	ctx context.Context, sender activities.Sender, policy activities.AttemptPolicy,
) (*notification.AttemptResult, error) {
	a := &activities.Activities{
		Attempts: m.deliveries, Digests: m.digest, DigestText: template.Engine{}.Digest,
		Senders: map[notification.Channel]activities.Sender{notification.Email: sender},
	}
	if m.digest != nil {
		a.Attempts = m.digest
	}
	if sender == nil {
		a.Senders = nil
		a.Off = map[notification.Channel]error{notification.Email: errors.New("SENDGRID_API_KEY, EMAIL_FROM are not set")}
	}
	if m.digest == nil {
		result, err := runWithin[activities.SendResult](ctx, a, a.Send,
			activities.SendInput{DeliveryID: "d1", Channel: notification.Email, AttemptPolicy: policy})
		return result.Unrecorded, err
	}
	result, err := runWithin[activities.SendDigestResult](ctx, a, a.SendDigest,
		activities.SendDigestInput{DigestID: "digest-1", Key: reviewMails, AttemptPolicy: policy})
	return result.Unrecorded, err
}

// named adds to a result the attempts that it ends: the n-th attempt at d1, and for a digest also
// an attempt at d2.
func (m *message) named(n int, result notification.AttemptResult) notification.AttemptResult {
	if m.digest == nil {
		result.DeliveryID, result.Number = "d1", n
	} else {
		result.DigestID, result.Items = "digest-1", []notification.ItemAttempt{{DeliveryID: "d1", Attempt: n}, {DeliveryID: "d2", Attempt: n + 4}}
	}
	return result
}

// provider returns the answer of a test, and counts the calls.
type provider struct {
	receipt notification.Answer
	err     error
	calls   int
	message notification.Message      // the last one
	during  func(ctx context.Context) // runs during the call
}

func (p *provider) Send(ctx context.Context, message notification.Message) (notification.Answer, error) {
	p.calls++
	p.message = message
	if p.during != nil {
		p.during(ctx)
	}
	return p.receipt, p.err
}

func accepting() *provider {
	return &provider{receipt: notification.Answer{ProviderID: "sg-1", Status: 202, DeadDevices: []string{"old"}}}
}

func providerError(class notification.FailureClass, status int, retryAfter time.Duration) error {
	return &notification.ProviderError{Provider: "sendgrid", Class: class, Status: status, RetryAfter: retryAfter}
}

// run runs one activity as a worker does.
func run[Result any](a *activities.Activities, activity, in any) (Result, error) {
	return runWithin[Result](context.Background(), a, activity, in)
}

// runWithin runs an activity with a context of its worker.
func runWithin[Result any](ctx context.Context, a *activities.Activities, activity, in any) (Result, error) {
	env := newEnv(a)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	return execute[Result](env, activity, in)
}

// newEnv returns a worker's environment for the activities of a.
func newEnv(a any, metrics ...client.MetricsHandler) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	for _, handler := range metrics {
		suite.SetMetricsHandler(handler)
	}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	return env
}

func execute[Result any](env *testsuite.TestActivityEnvironment, activity any, in ...any) (result Result, err error) {
	value, err := env.ExecuteActivity(activity, in...)
	if err != nil || !value.HasValue() {
		return result, err
	}
	return result, value.Get(&result)
}

// runLocally runs an activity as a local activity.
func runLocally[Result any](_ *activities.Activities, activity, in any) (result Result, err error) {
	var suite testsuite.WorkflowTestSuite
	value, err := suite.NewTestActivityEnvironment().ExecuteLocalActivity(activity, in)
	if err != nil {
		return result, err
	}
	return result, value.Get(&result)
}

// requireFailure asserts the failure that Temporal gets, and that it holds no personal data. delay
// may differ by a fifth.
func requireFailure(t *testing.T, err error, wantType string, permanent bool, delay time.Duration) {
	t.Helper()
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, wantType, failure.Type())
	require.Equal(t, permanent, failure.NonRetryable())
	require.InDelta(t, delay, failure.NextRetryDelay(), float64(delay)/5)
	require.NotContains(t, err.Error(), "ada@example.com")
	require.NotContains(t, err.Error(), "Table for 4")
}

func TestAttemptAccepted(t *testing.T) {
	t.Parallel()

	forBoth(t, 2, 1, func(t *testing.T, m *message) {
		require.Nil(t, must(m.attempt(t.Context(), accepting(), policy))(t))
		want := notification.AttemptResult{
			Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", DeadDevices: []string{"old"},
		}
		require.Equal(t, []notification.AttemptResult{m.named(2, want)}, m.results)
	})
}

// Failures of the provider use up attempts. Crashes, failures of Herald and rejections of our
// account do not. After a day of rejections the message fails.
func TestAttemptFails(t *testing.T) {
	t.Parallel()

	const (
		refused, busy, ambiguous = notification.OutcomeRefused, notification.OutcomeBusy, notification.OutcomeAmbiguous
		account, ours            = notification.OutcomeAccount, notification.OutcomeError
		exhausted                = activities.AttemptsExhausted
	)
	elsewhere := &notification.ProviderError{Provider: "sendgrid", Class: notification.Ambiguous, Status: 500, Elsewhere: true}
	clear, later, rejects := providerError(notification.Refused, 400, 0), providerError(notification.Busy, 429, time.Hour),
		providerError(notification.Account, 401, 0)
	tests := []struct {
		name         string
		begun, ended int
		rejected     time.Duration // the time since the first rejection of our account
		outage       time.Duration // the time since the first end by an outage
		patience     time.Duration // how long an outage uses up no attempt
		err          error
		wantType     string
		permanent    bool
		delay        time.Duration
		outcome      notification.AttemptOutcome
		status       int
		detail       string
	}{
		{name: "refused", begun: 1, err: clear, wantType: "Refused", permanent: true, outcome: refused, status: 400,
			detail: "sendgrid refused: 400"},
		{name: "refused, wrapped by the sender", begun: 1, err: fmt.Errorf("email: %w", clear), wantType: "Refused", permanent: true,
			outcome: refused, status: 400, detail: "email: sendgrid refused: 400"},
		{name: "refused at the third attempt", begun: 3, ended: 2, err: clear, wantType: "Refused", permanent: true, outcome: refused,
			status: 400, detail: "sendgrid refused: 400"},
		{name: "busy", begun: 1, err: providerError(notification.Busy, 429, 0), wantType: "Busy", outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "busy for an hour", begun: 1, err: later, wantType: "Busy", delay: time.Hour, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "account rejected", begun: 1, err: rejects, wantType: "Account", delay: time.Minute, outcome: account, status: 401,
			detail: "sendgrid rejected our account: 401"},
		{name: "account rejected, short Retry-After", begun: 1, err: providerError(notification.Account, 403, time.Second), wantType: "Account",
			delay: time.Minute, outcome: account, status: 403, detail: "sendgrid rejected our account: 403"},
		{name: "account rejected, long Retry-After", begun: 1, err: providerError(notification.Account, 403, time.Hour), wantType: "Account",
			delay: time.Hour, outcome: account, status: 403, detail: "sendgrid rejected our account: 403"},
		{name: "account rejected at the third attempt", begun: 3, ended: 2, err: rejects, wantType: "Account", delay: time.Minute,
			outcome: account, status: 401, detail: "sendgrid rejected our account: 401"},
		{name: "account rejected for nearly a day", begun: 3, rejected: 24*time.Hour - time.Second, err: rejects, wantType: "Account",
			delay: time.Minute, outcome: account, status: 401, detail: "sendgrid rejected our account: 401"},
		{name: "account rejected for a day", begun: 3, rejected: 24 * time.Hour, err: rejects, wantType: exhausted, permanent: true,
			outcome: account, status: 401, detail: "sendgrid rejected our account: 401"},
		{name: "no clear answer", begun: 1, err: providerError(notification.Ambiguous, 503, 0), wantType: "Ambiguous", outcome: ambiguous,
			status: 503, detail: "sendgrid gave no clear answer: 503"},
		{name: "no answer", begun: 1, err: providerError(notification.Ambiguous, 0, 0), wantType: "Ambiguous", outcome: ambiguous,
			detail: "sendgrid gave no clear answer"},
		{name: "out of reach at the third attempt", begun: 3, ended: 2, patience: time.Hour, err: providerError(notification.Unreachable, 0, 0),
			wantType: "Unreachable", delay: time.Second, outcome: notification.OutcomeUnreachable, detail: "sendgrid was out of reach"},
		{name: "busy for nearly an hour", begun: 3, ended: 2, patience: time.Hour, outage: time.Hour - time.Second,
			err: providerError(notification.Busy, 429, time.Second), wantType: "Busy", delay: time.Minute, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "busy for half a minute, long Retry-After", begun: 3, ended: 2, patience: time.Hour, outage: 30 * time.Second, err: later,
			wantType: "Busy", delay: time.Hour, outcome: busy, status: 429, detail: "sendgrid is busy: 429"},
		{name: "out of reach for an hour", begun: 3, ended: 2, patience: time.Hour, outage: time.Hour,
			err: providerError(notification.Unreachable, 0, 0), wantType: exhausted, permanent: true, outcome: notification.OutcomeUnreachable,
			detail: "sendgrid was out of reach"},
		{name: "unavailable counts", begun: 3, ended: 2, patience: time.Hour, err: providerError(notification.Unavailable, 503, 0),
			wantType: exhausted, permanent: true, outcome: notification.OutcomeUnavailable, status: 503, detail: "sendgrid is unavailable: 503"},
		{name: "no clear answer counts", begun: 3, ended: 2, patience: time.Hour, err: providerError(notification.Ambiguous, 500, 0),
			wantType: exhausted, permanent: true, outcome: ambiguous, status: 500, detail: "sendgrid gave no clear answer: 500"},
		{name: "no clear answer, while another provider is busy", begun: 3, ended: 2, err: elsewhere, wantType: "Ambiguous", outcome: ambiguous,
			status: 500, detail: "sendgrid gave no clear answer: 500"},
		{name: "no clear answer, while another provider is busy for long", begun: 6, ended: 5, err: elsewhere, wantType: exhausted,
			permanent: true, outcome: ambiguous, status: 500, detail: "sendgrid gave no clear answer: 500"},
		{name: "a bug in Herald", begun: 1, err: errors.New("a bug"), outcome: ours, detail: "a bug"},
		{name: "a bug in Herald at the third attempt", begun: 3, ended: 2, err: errors.New("a bug"), outcome: ours, detail: "a bug"},
		{name: "second attempt of three", begun: 2, ended: 1, err: later, wantType: "Busy", delay: time.Hour, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "second attempt after crashes", begun: 7, ended: 1, err: later, wantType: "Busy", delay: time.Hour, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "third attempt of three", begun: 3, ended: 2, err: later, wantType: exhausted, permanent: true, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "third attempt after crashes", begun: 7, ended: 2, err: later, wantType: exhausted, permanent: true, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "after nine crashes", begun: 10, err: later, wantType: "Busy", delay: time.Hour, outcome: busy, status: 429,
			detail: "sendgrid is busy: 429"},
		{name: "after ten crashes", begun: 11, wantType: exhausted, permanent: true, outcome: ours, detail: "10 attempts ended without a result"},
		{name: "after ten crashes and two failures", begun: 13, ended: 2, wantType: exhausted, permanent: true, outcome: ours,
			detail: "10 attempts ended without a result"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			forBoth(t, tt.begun, tt.ended, func(t *testing.T, m *message) {
				m.deliveries.attempt.Rejected, m.deliveries.attempt.Outage = tt.rejected, tt.outage
				if m.digest != nil {
					m.digest.items[0].Rejected, m.digest.items[1].Rejected = tt.rejected, tt.rejected
					m.digest.items[0].Outage, m.digest.items[1].Outage = tt.outage, tt.outage
				}
				policy := policy
				policy.Outage = tt.patience
				mail := &provider{err: tt.err, receipt: notification.Answer{ProviderID: "none", DeadDevices: []string{"old"}}}
				_, err := m.attempt(t.Context(), mail, policy)

				if m.digest == nil && tt.delay >= 2*time.Minute { // the workflow waits
					require.NoError(t, err)
				} else {
					requireFailure(t, err, tt.wantType, tt.permanent, tt.delay)
				}
				require.Equal(t, tt.delay > 0, !m.results[0].Next.IsZero())
				m.results[0].Next = time.Time{}
				want := notification.AttemptResult{Outcome: tt.outcome, ProviderStatus: tt.status, Detail: tt.detail}
				if tt.err != nil { // the provider was called
					want.DeadDevices = []string{"old"}
				}
				require.Equal(t, len(want.DeadDevices), mail.calls)
				require.Equal(t, []notification.AttemptResult{m.named(tt.begun, want)}, m.results)
			})
		})
	}
}

// If a sent message could not be recorded, the workflow gets the result, without device tokens, and
// records it later. Sending the message again would be a duplicate.
func TestAttemptUnrecorded(t *testing.T) {
	t.Parallel()

	forBoth(t, 2, 1, func(t *testing.T, m *message) {
		m.endErr = errors.New("connection reset")
		unrecorded := must(m.attempt(t.Context(), accepting(), policy))(t)

		want := m.named(2, notification.AttemptResult{Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1"})
		require.Equal(t, &want, unrecorded)

		a := &activities.Activities{Attempts: m.deliveries}
		for _, record := range []any{a.RecordSent, a.RecordDigest} {
			m.endErr = errors.New("connection reset")
			_, err := run[any](a, record, *unrecorded)
			requireFailure(t, err, "", false, 0)
			m.endErr = nil
			must(run[any](a, record, *unrecorded))(t)
			require.Equal(t, want, m.results[len(m.results)-1])
		}
	})
}

// A message that a provider may have goes to any provider at its last attempt, or after an outage of that
// provider. The result then tells that the message may arrive twice.
func TestAttemptWithAnyProvider(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		tied    int
		tiedFor time.Duration
		want    bool
	}{{0, 0, false}, {1, time.Minute, false}, {2, time.Minute, true}, {1, 2 * time.Hour, true}} {
		forBoth(t, 2, 1, func(t *testing.T, m *message) {
			m.deliveries.attempt.Tied, m.deliveries.attempt.TiedFor = tt.tied, tt.tiedFor
			if m.digest != nil {
				m.digest.items[0].Tried, m.digest.items[1].Tried = m.deliveries.attempt.Tried, m.deliveries.attempt.Tried
			}
			policy := policy
			policy.Outage = time.Hour
			mail := accepting()
			mail.receipt.MayRepeat = tt.want
			require.Nil(t, must(m.attempt(t.Context(), mail, policy))(t))
			require.Equal(t, tt.want, mail.message.AnyProvider)
			require.Equal(t, tt.want, strings.Contains(m.results[0].Detail, "may be a repeat"))
		})
	}
}

// On a best-effort channel a rejection of our account fails the message.
func TestAttemptOnABestEffortChannel(t *testing.T) {
	t.Parallel()

	in, account := sendInput, &provider{err: providerError(notification.Account, 401, 0)}
	in.Channel, in.MaxAttempts = notification.WebSocket, 1
	a := &activities.Activities{Attempts: due(1, 0), Senders: map[notification.Channel]activities.Sender{in.Channel: account}}
	_, err := run[activities.SendResult](a, a.Send, in)
	requireFailure(t, err, activities.AttemptsExhausted, true, 0)
	require.Equal(t, 1, account.calls)
}

func TestAttemptFailureUnrecorded(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		m.endErr = errors.New("connection reset")
		_, err := m.attempt(t.Context(), &provider{err: providerError(notification.Busy, 429, time.Minute)}, policy)
		requireFailure(t, err, "Busy", false, time.Minute)
	})
}

// The outcome is recorded even if the activity was cancelled during the call.
func TestAttemptCancelledDuringTheCall(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := m.attempt(ctx, &provider{during: func(ctx context.Context) {
			cancel()
			<-ctx.Done()
		}}, policy)
		require.NoError(t, err)
		require.Len(t, m.results, 1)
		require.Equal(t, notification.OutcomeSent, m.results[0].Outcome)
	})
}

func TestAttemptTimeout(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		var cause error
		mail := &provider{err: providerError(notification.Ambiguous, 0, 0), during: func(ctx context.Context) {
			<-ctx.Done()
			cause = ctx.Err()
		}}
		_, err := m.attempt(t.Context(), mail, activities.AttemptPolicy{Timeout: time.Nanosecond, MaxAttempts: 3})
		requireFailure(t, err, "Ambiguous", false, 0)
		require.ErrorIs(t, cause, context.DeadlineExceeded)
	})
}

// An attempt that began too late does not call the provider, and is not the provider's failure.
func TestAttemptTooLate(t *testing.T) {
	t.Parallel()

	forBoth(t, 3, 2, func(t *testing.T, m *message) {
		ctx, cancel := context.WithTimeout(t.Context(), policy.Timeout) // too short for the call and the record
		defer cancel()
		mail := &provider{}
		_, err := m.attempt(ctx, mail, policy)
		requireFailure(t, err, "", false, 0)
		require.Zero(t, mail.calls)
		require.Len(t, m.results, 1)
		require.Equal(t, notification.OutcomeError, m.results[0].Outcome, "the outcome ERROR uses up no attempt")
	})
}

func TestAttemptOnAChannelThatIsOff(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		_, err := m.attempt(t.Context(), nil, policy)
		requireFailure(t, err, activities.ChannelNotConfigured, true, 0)
		want := notification.AttemptResult{Outcome: notification.OutcomeOff, Detail: m.results[0].Detail}
		require.Equal(t, []notification.AttemptResult{m.named(1, want)}, m.results)
		for _, fact := range []string{"EMAIL is not configured", "SENDGRID_API_KEY", "EMAIL_FROM", "no provider was called"} {
			require.Contains(t, m.results[0].Detail, fact)
		}
	})
}

// The result of an attempt suppresses the address if the provider's answer demands it.
func TestAttemptSuppressesTheAddress(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		stop := &notification.ProviderError{
			Provider: "twilio", Class: notification.Refused, Status: 400, Code: "21610", Suppress: notification.SuppressedOptOut,
		}
		_, err := m.attempt(t.Context(), &provider{err: stop}, policy)
		requireFailure(t, err, "Refused", true, 0)
		require.Equal(t, notification.SuppressedOptOut, m.results[0].Suppress)
	})
}

func TestAttemptWithoutText(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		why, mail := "template T/EMAIL/en: no key pax", &provider{}
		if m.digest == nil {
			m.deliveries.attempt.Status, m.deliveries.attempt.Problem = notification.Failed, why
		} else {
			m.digest.digest.Templates, why = nil, "no template for digest/EMAIL/"
		}
		_, err := m.attempt(t.Context(), mail, policy)
		requireFailure(t, err, activities.NoText, true, 0)
		require.Equal(t, why, m.results[0].Detail)
		require.Zero(t, mail.calls)
	})
}

func TestAttemptWithoutDatabase(t *testing.T) {
	t.Parallel()

	forBoth(t, 1, 0, func(t *testing.T, m *message) {
		down, mail := errors.New("connection reset"), &provider{}
		if m.beginErr = down; m.digest != nil {
			m.digest.err = down
		}
		_, err := m.attempt(t.Context(), mail, policy)
		requireFailure(t, err, "", false, 0)
		require.Zero(t, mail.calls)
		require.Empty(t, m.results)
	})
}

// must returns the value of a call and fails the test if the call has failed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}
