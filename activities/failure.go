package activities

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"

	"herald/internal/limit"
	"herald/internal/notification"
)

// The types of failure that workflows and operators distinguish. The values of
// [notification.FailureClass] are types of failure, too.
const (
	NoSuchRow            = "NoSuchRow"            // the event or delivery is not in the database
	ChannelNotConfigured = "ChannelNotConfigured" // the channel has no credentials here
	UnknownSource        = "UnknownSource"        // the worker has no outbox source of that name
	NoText               = "NoText"               // the text cannot be written, or the recipient cannot be reached
	AttemptsExhausted    = "AttemptsExhausted"    // the provider failed as often as the policy allows
	ProvidersRest        = "ProvidersRest"        // all providers rest, are paused or are at their limits; nothing was sent
	SenderPaused         = "SenderPaused"         // optional messages of the sender wait for an operator; nothing was sent
	RateLimited          = "RateLimited"          // the channel's rate limit left no token; nothing was sent
)

// failure makes err permanent if its row does not exist. Do not wrap the result with fmt.Errorf:
// Temporal would retry it.
func failure(err error) error {
	if errors.Is(err, notification.ErrNoEvent) || errors.Is(err, notification.ErrNoDelivery) {
		return permanent(err, NoSuchRow)
	}
	return err // a database out of reach, or a bug: the retry policy decides
}

// attemptFailure returns the failure of an attempt, made permanent if no attempt follows. While the
// provider rejects our account, the message is tried once a minute, for a day, and these attempts
// do not count. Nor do attempts during an outage, until it has lasted as long as the policy says. A
// best-effort channel gets only one attempt that counts. A message that another provider may take after
// its outage gets up to twice the attempts.
func attemptFailure(m *outgoing, err error) error {
	if off, ok := errors.AsType[*notification.NotConfiguredError](err); ok {
		return permanent(off, ChannelNotConfigured)
	}
	provider, ok := errors.AsType[*notification.ProviderError](err)
	if !ok {
		return failure(err)
	}
	ours := provider.Class == notification.Account && !m.channel.BestEffort()
	switch {
	case provider.Class == notification.Refused:
		return permanent(provider, string(notification.Refused))
	case m.expired(): // the next attempt makes it CANCELLED, without a dead letter or an escalation
		return later(provider, expiredRetry)
	case ours && m.tried.Rejected >= accountPatience:
		return permanent(provider, AttemptsExhausted)
	case ours:
		return later(provider, jittered(accountRetry, provider.RetryAfter))
	case provider.Class.IsOutage() && m.tried.Outage < m.policy.Outage:
		return later(provider, jittered(m.policy.outageInterval(m.tried.Outage), provider.RetryAfter))
	case m.tried.Ended+1 >= m.policy.MaxAttempts && !(provider.Elsewhere && m.tried.Ended+1 < 2*m.policy.MaxAttempts):
		return permanent(provider, AttemptsExhausted)
	default:
		return later(provider, m.policy.interval(m.tried.Ended, provider.RetryAfter))
	}
}

// retryDelay returns the time after which Temporal retries a failure; 0: never, or as the retry policy
// says.
func retryDelay(err error) time.Duration {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok && !application.NonRetryable() {
		return application.NextRetryDelay()
	}
	return 0
}

// retried returns err as a failure that Temporal always retries.
func retried(err error) error {
	provider, ok := errors.AsType[*notification.ProviderError](err)
	if !ok {
		return err
	}
	return later(provider, provider.RetryAfter)
}

// IsPermanent reports whether a failure is never retried.
func IsPermanent(err error) bool {
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && application.NonRetryable()
}

// allProvidersRest reports whether an attempt sent nothing because all providers rest, or the sender is
// paused.
func allProvidersRest(err error) bool {
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && (application.Type() == ProvidersRest || application.Type() == SenderPaused)
}

// later returns a failure that Temporal retries after a delay; 0: the retry policy
// decides.
func later(provider *notification.ProviderError, delay time.Duration) error {
	return benign(provider.Error(), string(provider.Class), delay)
}

// waitReason tells people why the next attempt comes much later.
func waitReason(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok && application.Type() == SenderPaused {
		return application.Message()
	}
	return notification.WaitRetry
}

// benign returns a failure that Temporal retries after a delay, and does not log as an error; 0:
// the retry policy decides.
func benign(message, failureType string, delay time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(message, failureType, temporal.ApplicationErrorOptions{
		NextRetryDelay: delay,
		Category:       temporal.ApplicationErrorCategoryBenign,
	})
}

// permanent returns err as a failure that is never retried.
func permanent(err error, failureType string) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), failureType, temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Category:     temporal.ApplicationErrorCategoryBenign,
	})
}

// reason returns the text of a failure for the tables: an application error's message, without
// Temporal's additions.
func reason(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Message()
	}
	return err.Error()
}

// startOutcome returns the outcome of an event from the result of starting its workflow. The event
// is not at fault if the server does not answer or rejects Herald, or if a search attribute is
// unknown: the table accepts only values that search attributes can have.
func startOutcome(err error) notification.ClaimOutcome {
	if err == nil {
		return notification.ClaimStarted
	}
	if invalid, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		if strings.Contains(strings.ToLower(invalid.Message), "search attribute") {
			return notification.ClaimReleased
		}
		return notification.ClaimFailed
	}
	if _, taken := errors.AsType[*notification.IDTakenError](err); taken {
		return notification.ClaimFailed
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return notification.ClaimReleased
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted,
		codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.FailedPrecondition:
		return notification.ClaimReleased // NotFound: no such namespace; FailedPrecondition: the namespace is active in another cluster
	default:
		return notification.ClaimKept
	}
}

// maxRetryInterval caps the growing intervals between attempts. Senders clamp a
// provider's Retry-After to the same time.
const maxRetryInterval = 15 * time.Minute

// minOutageRetry and maxOutageRetry limit the intervals during an outage. The maximum is short, because
// the message is due when the outage ends.
const minOutageRetry, maxOutageRetry = time.Second, time.Minute

// longRetryDelay is the time from which the workflow of a delivery waits for the next attempt, so that the
// delivery gives back what others need. Temporal waits for shorter times, which costs less.
const longRetryDelay = 2 * time.Minute

const (
	// accountRetry is the interval after a provider rejected our account. An operator has
	// to correct the credentials, and more attempts may lock the account.
	accountRetry = time.Minute
	// accountPatience is the time from the first rejection of our account until the message fails.
	accountPatience = 24 * time.Hour
)

// interval returns the time until the next attempt, if `ended` attempts failed before this one.
func (p AttemptPolicy) interval(ended int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return jittered(0, retryAfter)
	}
	grown := float64(p.FirstRetry) * math.Pow(max(p.Coefficient, 1), float64(ended))
	return jittered(time.Duration(min(grown, float64(max(maxRetryInterval, p.FirstRetry)))), 0)
}

// outageInterval returns the time until the next attempt during an outage that has lasted for some
// time. Each attempt comes after twice the time of the last one.
func (p AttemptPolicy) outageInterval(lasted time.Duration) time.Duration {
	return min(max(lasted, p.FirstRetry, minOutageRetry), max(maxOutageRetry, p.FirstRetry))
}

// jittered makes an interval up to a fifth shorter or longer, so that messages that failed together
// are not retried together. If retryAfter is longer than the interval, it returns retryAfter or up
// to a fifth more.
func jittered(interval, retryAfter time.Duration) time.Duration {
	if retryAfter > interval {
		return retryAfter + time.Duration(rand.Float64()*float64(retryAfter)/5)
	}
	return max(retryAfter, limit.Jitter(interval))
}
