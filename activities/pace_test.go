package activities_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/template"
)

// delays returns the intervals after failures of one kind, for many attempts.
func delays(t *testing.T, tried notification.Tried, in activities.SendInput, cause error) (least, most time.Duration) {
	t.Helper()
	for range 200 {
		db := due(1, 0)
		db.attempt.Tried = tried
		result, err := send(t, db, &provider{err: cause}, in)
		delay := time.Until(result.NotBefore).Round(time.Second) // the workflow waits for a long time
		if result.NotBefore.IsZero() {
			var failure *temporal.ApplicationError
			require.ErrorAs(t, err, &failure)
			require.False(t, failure.NonRetryable())
			delay = failure.NextRetryDelay()
		}
		if least == 0 || delay < least {
			least = delay
		}
		most = max(most, delay)
	}
	return least, most
}

// Intervals grow by the coefficient, differ by up to a fifth, and are never shorter than the
// provider's Retry-After.
func TestSendIntervalsAreJittered(t *testing.T) {
	t.Parallel()

	in := sendInput
	in.MaxAttempts, in.FirstRetry, in.Coefficient = 100, 30*time.Second, 2
	busy := func(retryAfter time.Duration) error { return providerError(notification.Busy, 429, retryAfter) }
	account := providerError(notification.Account, 401, 0)
	tests := []struct {
		name        string
		tried       notification.Tried
		err         error
		least, most time.Duration
	}{
		{name: "after the first failure", tried: notification.Tried{}, err: busy(0), least: 24 * time.Second, most: 36 * time.Second},
		{name: "after the third failure", tried: notification.Tried{Ended: 2}, err: busy(0), least: 96 * time.Second, most: 144 * time.Second},
		{name: "after crashes and rejections", tried: notification.Tried{Begun: 9, Crashed: 5, Rejected: time.Hour}, err: busy(0),
			least: 24 * time.Second, most: 36 * time.Second},
		{name: "capped", tried: notification.Tried{Ended: 60}, err: busy(0), least: 12 * time.Minute, most: 18 * time.Minute},
		{name: "delay that the provider asks for", tried: notification.Tried{}, err: busy(10 * time.Second), least: 10 * time.Second,
			most: 12 * time.Second},
		{name: "account rejected", tried: notification.Tried{}, err: account, least: 48 * time.Second, most: 72 * time.Second},
		{name: "account rejected, provider asks for a delay", tried: notification.Tried{},
			err: providerError(notification.Account, 403, 5*time.Minute), least: 5 * time.Minute, most: 6 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			least, most := delays(t, tt.tried, in, tt.err)

			require.GreaterOrEqual(t, least, tt.least)
			require.LessOrEqual(t, most, tt.most)
			require.Greater(t, most-least, (tt.most-tt.least)/4, "the intervals differ")
		})
	}
}

// Herald logs a rejected account once a minute for each channel, for any number of waiting
// deliveries.
func TestSendReportsARejectedAccountOnce(t *testing.T) {
	t.Parallel()

	account := &provider{err: providerError(notification.Account, 401, 0)}
	a := &activities.Activities{Attempts: due(1, 0), Digests: dueDigest(1, 0),
		DigestText: template.Engine{}.Digest, Senders: map[notification.Channel]activities.Sender{
			notification.Email: account, notification.SMS: account,
		}}
	env, logged := loggedEnv(a)
	text := sendInput
	text.Channel = notification.SMS
	for _, in := range []activities.SendInput{sendInput, sendInput, text, text, sendInput} {
		_, err := env.ExecuteActivity(a.Send, in)
		require.Error(t, err)
	}
	_, err := env.ExecuteActivity(a.SendDigest, activities.SendDigestInput{
		DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3},
	})
	require.Error(t, err)

	require.Equal(t, 6, account.calls)
	require.Equal(t, 2, strings.Count(logged.String(), "level=ERROR"), logged)
}

// Herald logs once a minute that dead tokens stay in the directory. It still sends and
// records the messages.
func TestSendReportsDeadTokensOnce(t *testing.T) {
	t.Parallel()

	db := due(1, 0)
	db.tokensKept = "this view cannot be updated"
	a := mailer(db, &provider{})
	env, logged := loggedEnv(a)
	for range 2 {
		db.attempt.Status = notification.Pending
		require.Equal(t, activities.SendResult{Status: notification.Sent}, must(execute[activities.SendResult](env, a.Send, sendInput))(t))
	}
	require.Equal(t, 1, strings.Count(logged.String(), "level=WARN"), logged)
	require.Contains(t, logged.String(), "dead device token")
}

// loggedEnv returns an environment and its log.
func loggedEnv(a *activities.Activities) (*testsuite.TestActivityEnvironment, *bytes.Buffer) {
	var suite testsuite.WorkflowTestSuite
	logged := &bytes.Buffer{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.NewTextHandler(logged, nil))))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	return env, logged
}

// tokens is a limit.Tokens that gives out all tokens, or fails.
type tokens struct {
	err error
	in  time.Duration // when the tokens are due

	wanted []limit.Wanted
}

func (s *tokens) TakeTokens(_ context.Context, in limit.Wanted) (limit.Taken, error) {
	s.wanted = append(s.wanted, in)
	return limit.Taken{Granted: in.Most, Wait: s.in}, s.err
}

// paced limits e-mail to rate messages a second.
func paced(tokens limit.Tokens, rate float64) *limit.Pace {
	return &limit.Pace{Tokens: tokens, Rates: map[notification.Channel]float64{notification.Email: rate}}
}

// sendLimited makes an attempt over a channel with a rate limit.
func sendLimited(t *testing.T, db *deliveries, mail activities.Sender, from *tokens) (activities.SendResult, error) {
	t.Helper()
	a := mailer(db, mail)
	a.Pace = paced(from, 2)
	return run[activities.SendResult](a, a.Send, sendInput)
}

func TestSendWaitsForItsTurn(t *testing.T) {
	t.Parallel()

	db, mail, from := due(1, 0), accepting(), &tokens{in: 50 * time.Millisecond}
	begun := time.Now()
	must(sendLimited(t, db, mail, from))(t)
	require.Equal(t, 1, mail.calls)
	require.GreaterOrEqual(t, time.Since(begun), from.in)
	require.Len(t, from.wanted, 1)
	require.Equal(t, 1, from.wanted[0].Most)
	require.InDelta(t, 2, from.wanted[0].Rate, 0)
}

// If Herald cannot take turns, it sends nothing, because the rate limit may be used up. The attempt
// does not count.
func TestSendWithoutTurns(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), accepting()
	_, err := sendLimited(t, db, mail, &tokens{err: errors.New("connection refused")})
	require.ErrorContains(t, err, "connection refused")
	require.Zero(t, mail.calls)
	require.Equal(t, []notification.Attempt{due(1, 0).attempt}, db.released)
	require.Empty(t, db.results)
}

// Under a rate limit a worker has at least two slots, and no more slots than get tokens while they
// wait.
func TestSendSlots(t *testing.T) {
	t.Parallel()

	for rate, want := range map[float64]int{0: 64, 0.01: 2, 1: 2, 10: 20, 32: 64, 1e300: 64} {
		require.Equal(t, want, activities.SendSlots(rate, 64), "%v a second", rate)
	}
}
