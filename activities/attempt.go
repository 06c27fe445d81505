package activities

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// A Sender hands one message to one provider, once. Every failure of the
// provider or of the wire is a [notification.ProviderError].
type Sender interface {
	Send(ctx context.Context, msg notification.Message) (notification.Answer, error)
}

// beginTimeout and recordTimeout bound the statements that begin and end an attempt. Herald calls
// the provider only if the activity has time left for the call's full time-out and for the record.
const beginTimeout, recordTimeout = 5 * time.Second, 5 * time.Second

// maxCrashes is the number of attempts of one run that may die with their process. After them
// Herald assumes that the message kills its process, and fails the message.
const maxCrashes = 10

// AttemptOverhead is the time that an attempt has in addition to its call: for the statements that
// begin and end it, and for its token under a rate limit. After this time Temporal takes the worker
// for dead, the attempt's lease expires, and the attempt is repeated.
const AttemptOverhead = 20 * time.Second

// AttemptLost is the type of failure of an attempt that finds another attempt's lease.
const AttemptLost = "AttemptLost"

// leased is the failure of an attempt while another sender has the delivery's lease.
func leased(until time.Duration) error {
	return benign("an earlier attempt may still be in flight", AttemptLost, max(until, time.Second))
}

// begin leases deliveries for the longest time that an attempt by the policy can take.
func (a *Activities) begin(ctx context.Context, policy AttemptPolicy, in notification.Begin) ([]notification.Attempt, error) {
	in.Owner = activity.GetInfo(ctx).WorkflowExecution.ID + " " + rand.Text()
	in.Lease, in.Outage = policy.Timeout+AttemptOverhead, policy.Outage
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Attempts.BeginAttempts(ctx, in)
}

// release gives back the leases of attempts that are not made, even if the activity was cancelled
// meanwhile. If that fails, the leases expire.
func (a *Activities) release(ctx context.Context, attempts []notification.Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := a.Attempts.ReleaseAttempts(ctx, attempts); err != nil {
		activity.GetLogger(ctx).Warn("attempts were not released: the next attempts wait until the leases expire", "count", len(attempts),
			"error", Unquoted(err))
	}
}

// outgoing is a message for which an attempt was begun. It belongs to one delivery, or to
// a digest of many deliveries.
type outgoing struct {
	*Activities
	channel notification.Channel
	policy  AttemptPolicy
	begun   []notification.Attempt
	tried   notification.Tried
	result  notification.AttemptResult           // names the attempts that get the result
	write   func() (notification.Message, error) // an error: the message has no text
	local   bool                                 // a local activity: does not wait while all providers rest
}

// attempt waits for the message's token, hands it to its provider and records the answer. It returns
// who took the message. If the provider accepted the message but the record failed, attempt also
// returns the record.
//
// A failed attempt that could not be recorded counts as a crash once its lease has expired, and is
// repeated. An attempt does not count if its sender is paused, it gets no token, or all providers rest.
func (m *outgoing) attempt(ctx context.Context) (by notification.SentBy, unrecorded *notification.AttemptResult, err error) {
	if err := m.paused(m.channel, m.begun...); err != nil {
		m.release(ctx, m.begun)
		return by, nil, err
	}
	if err := m.awaitToken(ctx, m.channel); err != nil {
		m.release(ctx, m.begun)
		return by, nil, failure(err)
	}
	if m.expired() {
		m.releaseExpired(ctx, m.begun)
		return by, nil, errExpired
	}
	err = m.try(ctx)
	if errors.Is(err, notification.ErrBackOff) {
		m.release(ctx, m.begun)
		return by, nil, backOffFailure(err, activity.GetInfo(ctx).Attempt)
	}
	countAttempts(ctx, m.channel, m.result)
	if m.tried.Begun > 1 {
		byChannel(ctx, m.channel).Counter(RetriesMetric).Inc(1)
	}
	failed := err
	if err != nil {
		failed = attemptFailure(m, err)
	}
	if delay := retryDelay(failed); delay > 0 {
		m.result.Next = time.Now().Add(delay).UTC()
	}
	recordErr := m.record(ctx)
	if recordErr != nil {
		activity.GetLogger(ctx).Warn("the end of an attempt was not recorded", "id", cmp.Or(m.result.DeliveryID, m.result.DigestID),
			"outcome", m.result.Outcome, "error", Unquoted(recordErr))
	}
	if failed != nil {
		return by, nil, failed
	}
	if recordErr == nil {
		return m.result.SentBy(), nil, nil
	}
	m.result.DeadDevices = nil // tokens stay out of the history; the next push finds them again
	return m.result.SentBy(), &m.result, nil
}

// try calls the provider, and completes the result with the answer or the failure. If all providers
// still rest after restPatience, the error is [notification.ErrBackOff].
func (m *outgoing) try(ctx context.Context) error {
	answer, err := m.call(ctx)
	for until := time.Now().Add(restPatience); errors.Is(err, notification.ErrBackOff); answer, err = m.call(ctx) {
		if rest, ok := errors.AsType[*notification.BackOffError](err); ok && rest.Alone {
			return err
		}
		if m.local || ctx.Err() != nil || stopping(ctx) || time.Now().After(until) {
			return err
		}
		time.Sleep(restLook)
	}
	m.end(answer, err)
	countSegments(ctx, answer)
	if answer.Failover {
		byChannel(ctx, m.channel).Counter(FailoversMetric).Inc(1)
	}
	m.warnings.rejected(ctx, m.channel, m.result)
	return err
}

// call calls the provider. It returns an error without a call if the channel is off, the message
// crashed too often, too little time is left, or the message has no text.
func (m *outgoing) call(ctx context.Context) (notification.Answer, error) {
	sender, ok := m.Senders[m.channel]
	switch {
	case !ok:
		return notification.Answer{}, &notification.NotConfiguredError{Channel: m.channel, Why: m.Off[m.channel]}
	case m.tried.Crashed >= maxCrashes:
		return notification.Answer{}, permanent(fmt.Errorf("%d attempts ended without a result", m.tried.Crashed), AttemptsExhausted)
	case !timeFor(ctx, m.policy.Timeout):
		return notification.Answer{}, errLate
	}
	message, err := m.write()
	if err != nil {
		return notification.Answer{}, permanent(err, NoText)
	}
	message.AnyProvider = m.tried.Tied+1 >= m.policy.MaxAttempts || m.tried.TiedFor > m.policy.Outage
	ctx, cancel := context.WithTimeout(ctx, m.policy.Timeout)
	defer cancel()
	ctx, stop := untilExpiry(ctx, message)
	defer stop()
	return sender.Send(ctx, message)
}

// errLate is the failure of an attempt that began too late, because its machine or the
// database hung. It is not the provider's failure, so the attempt is repeated.
var errLate = errors.New("too little time was left to call the provider and to record its answer")

// timeFor reports whether the activity has time for a call that takes its full time-out, and for
// the record of its answer. Temporal drops a later result and repeats the activity, which would
// send the message again.
func timeFor(ctx context.Context, timeout time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) >= timeout+recordTimeout
}

// end completes the result with a provider's answer, or its failure.
func (m *outgoing) end(answer notification.Answer, err error) {
	r := &m.result
	r.Provider, r.Sender, r.ProviderStatus = answer.Provider, answer.Sender, answer.Status
	r.DeadDevices, r.Took = answer.DeadDevices, answer.Took
	if err == nil {
		r.Outcome, r.ProviderID = notification.OutcomeSent, answer.ProviderID
		if answer.MayRepeat {
			r.Detail = "may be a repeat: another provider gave no clear answer before"
		}
		return
	}
	r.Outcome, r.Detail = notification.OutcomeError, reason(err)
	var provider *notification.ProviderError
	var off *notification.NotConfiguredError
	switch {
	case errors.As(err, &off):
		r.Outcome = notification.OutcomeOff
	case errors.As(err, &provider):
		r.Outcome, r.ProviderStatus, r.Suppress = provider.Class.Outcome(), provider.Status, provider.Suppress
	}
}

// record stores a result, even if the activity was cancelled meanwhile.
func (m *outgoing) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	recorded, err := m.Attempts.EndAttempts(ctx, []notification.AttemptResult{m.result})
	if err == nil {
		observeCommitToSent(ctx, m.channel, recorded...)
		m.warnings.tokensKept(ctx, recorded[0].DeadTokensKept)
		if m.tried.Begun == 1 && m.Pace.Rate(m.channel) == 0 {
			m.singles.note(recorded[0].Waited - m.result.Took)
		}
	}
	return err
}

// RecordSent stores a result that [Activities.Send] could not store.
func (a *Activities) RecordSent(ctx context.Context, in notification.AttemptResult) error {
	_, err := a.Attempts.EndAttempts(ctx, []notification.AttemptResult{in})
	return err
}

// RecordDigest stores a result that [Activities.SendDigest] could not store.
func (a *Activities) RecordDigest(ctx context.Context, in notification.AttemptResult) error {
	return a.RecordSent(ctx, in)
}

// warnings logs a repeated warning once a minute, not once per delivery.
type warnings struct {
	said sync.Map // by name: a *rate.Sometimes
}

func (w *warnings) occasionally(name string, say func()) {
	sometimes, _ := w.said.LoadOrStore(name, &rate.Sometimes{Interval: accountRetry})
	sometimes.(*rate.Sometimes).Do(say)
}

// rejected logs that a provider rejects our account.
func (w *warnings) rejected(ctx context.Context, channel notification.Channel, result notification.AttemptResult) {
	if result.Outcome != notification.OutcomeAccount {
		return
	}
	w.occasionally(string(channel), func() {
		activity.GetLogger(ctx).Error("a provider rejects our account: each delivery is retried once a minute, and fails after 24 hours",
			"channel", channel, "answer", result.Detail)
	})
}

// tokensKept logs that dead device tokens could not be switched off.
func (w *warnings) tokensKept(ctx context.Context, why string) {
	if why == "" {
		return
	}
	w.occasionally("tokens kept", func() {
		activity.GetLogger(ctx).Warn("a dead device token stays in the directory, and every push finds it again", "why", why)
	})
}
