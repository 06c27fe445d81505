package limit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Failover sends a message over the first provider of a channel that accepts it. Make it with
// [NewFailover]. It is safe for concurrent use.
type Failover struct {
	circuits  *Circuits
	providers []*Provider
}

// Provider is a sender with the name of its provider.
type Provider struct {
	Name string
	channel.Sender
	RateLimit float64 // messages a second over all processes, to each destination; 0: no limit
	Tokens    Tokens  // of RateLimit; nil: the tokens of the database of the circuits

	breaker breaker
	calls   calls
	pauses  pauses
}

// NewFailover returns a Failover that asks providers in this order. Without circuits none is open, and
// a rate limit needs [Provider.Tokens].
func NewFailover(circuits *Circuits, providers ...*Provider) *Failover {
	return &Failover{circuits, providers}
}

// Calls returns how often this process has called each provider, by outcome.
func (f *Failover) Calls() map[string]map[notification.AttemptOutcome]int64 {
	calls := map[string]map[notification.AttemptOutcome]int64{}
	for _, p := range f.providers {
		calls[p.Name] = p.calls.counts()
	}
	return calls
}

// OpenCircuits maps the name of each provider to whether its circuit is open, or the provider is paused.
// It does not count if nobody has needed the provider for five minutes after the time of its probe.
func (f *Failover) OpenCircuits() map[string]bool {
	open := map[string]bool{}
	for _, p := range f.providers {
		open[p.Name] = f.circuits.troubled(p.Name)
	}
	return open
}

// Send asks one provider after the other. It asks the next provider only if the circuit of the
// previous one is open, or it is at its rate limit, or certainly does not have the message: see
// [notification.FailureClass.PassesOn]. If a provider may have the message from an earlier attempt, Send
// asks only that provider, until the message may go to any provider. If all circuits are open or all providers
// are at their limits, Send asks nobody, and the error is a [notification.BackOffError]. ctx limits the calls to
// all providers together.
//
// If the process dies before the answer is recorded, the repeat asks in the same order again. So a
// crash may repeat one message, even through another provider.
func (f *Failover) Send(ctx context.Context, msg notification.Message) (answer notification.Answer, err error) {
	var failures []*notification.ProviderError
	passed := false
	providers := f.askedFor(msg)
	for i, p := range providers {
		answer, err = p.ask(ctx, f.circuits, msg)
		if err == nil {
			answer.Provider, answer.Sender, answer.Failover = p.Name, p.from(), i > 0
			answer.MayRepeat = msg.Provider != "" && msg.Provider != p.Name || slices.ContainsFunc(failures, mayHave)
			return answer, nil
		}
		var failure *notification.ProviderError
		var backOff *notification.BackOffError
		switch {
		case errors.As(err, &backOff) && backOff.Alone:
			return answer, err
		case errors.Is(err, notification.ErrBackOff):
			passed = true
			continue
		case !errors.As(err, &failure):
			return answer, err
		}
		failures = append(failures, failure)
		if mayHave(failure) {
			answer.Provider, answer.Sender = p.Name, p.from()
		}
		if !failure.Class.PassesOn() || ctx.Err() != nil || msg.Expired() {
			break
		}
	}
	if len(failures) == 0 {
		return answer, &notification.BackOffError{For: f.openFor(providers)}
	}
	failure := together(failures)
	if mayHave(failure.counts) &&
		(passed || slices.ContainsFunc(failures, func(other *notification.ProviderError) bool { return other.Class.IsOutage() })) {
		elsewhere := *failure.counts
		elsewhere.Elsewhere = msg.AnyProvider
		failure.counts = &elsewhere
	}
	return answer, failure
}

// openFor returns the time until the first of providers may be asked.
func (f *Failover) openFor(providers []*Provider) time.Duration {
	first := longestOpen
	for _, p := range providers {
		first = min(first, f.circuits.openFor(p.Name))
	}
	return first
}

// askedFor returns the providers to ask: first the provider that an operator chose, then the others in
// their order. A provider that may have the message is asked alone, or last if the message may go to any
// provider.
func (f *Failover) askedFor(msg notification.Message) []*Provider {
	place := func(p *Provider) int {
		switch {
		case p.Name == msg.Provider:
			return 2
		case f.circuits.preferred(p.Name):
			return 0
		default:
			return 1
		}
	}
	ordered := slices.SortedStableFunc(slices.Values(f.providers), func(a, b *Provider) int { return place(a) - place(b) })
	if last := ordered[len(ordered)-1:]; last[0].Name == msg.Provider && !msg.AnyProvider {
		return last
	}
	return ordered
}

// mayHave reports whether the provider may have sent the message.
func mayHave(failure *notification.ProviderError) bool {
	return failure.Class == notification.Ambiguous
}

// precedence orders the failures of several providers: the first of these classes is the failure of the
// message. A provider that may have sent the message comes first, then the providers that may take it
// soonest. A refusal counts only if no other provider may take the message later.
var precedence = []notification.FailureClass{
	notification.Ambiguous, notification.Busy, notification.Unreachable, notification.Unavailable, notification.Account, notification.Refused,
}

// together returns the failure of a message that several providers did not take. If a provider says that
// the address does not work, the message is refused.
func together(failures []*notification.ProviderError) *allFailed {
	var texts []string
	for _, failure := range failures {
		texts = append(texts, failure.Error())
	}
	return &allFailed{
		strings.Join(texts, "; "), slices.MinFunc(failures, func(a, b *notification.ProviderError) int { return rank(a) - rank(b) }),
	}
}

func rank(failure *notification.ProviderError) int {
	if failure.Suppress != "" {
		return -1
	}
	return slices.Index(precedence, failure.Class)
}

// allFailed is the failure of all providers that were asked.
type allFailed struct {
	text   string
	counts *notification.ProviderError
}

func (e *allFailed) Error() string { return e.text }

func (e *allFailed) Unwrap() error { return e.counts }
