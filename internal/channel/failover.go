package channel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"herald/internal/notification"
)

// Failover sends a message over the first provider of a channel that accepts it. Make it with
// [NewFailover]. It is safe for concurrent use.
type Failover struct {
	board     *Board
	providers []*Provider
}

// Provider is a sender with the name of its provider.
type Provider struct {
	Name string
	Sender
	RateLimit float64 // messages a second over all processes; 0: no limit

	breaker   breaker
	calls     calls
	fullUntil atomic.Int64 // in Unix nanoseconds: no turn is free before this time
}

// NewFailover returns a Failover that asks providers in this order. Without a board, no provider rests
// or has a rate limit.
func NewFailover(board *Board, providers ...*Provider) *Failover {
	return &Failover{board, providers}
}

// Calls returns how often this process has called each provider, by outcome.
func (f *Failover) Calls() map[string]map[notification.AttemptOutcome]int64 {
	calls := map[string]map[notification.AttemptOutcome]int64{}
	for _, p := range f.providers {
		calls[p.Name] = p.calls.counts()
	}
	return calls
}

// Resting maps the name of each provider to whether it rests or is paused. A provider does not count as
// resting if nobody has needed it for five minutes after its rest.
func (f *Failover) Resting() map[string]bool {
	resting := map[string]bool{}
	for _, p := range f.providers {
		resting[p.Name] = f.board.troubled(p.Name)
	}
	return resting
}

// Send asks one provider after the other. It asks the next provider only if the previous provider rests,
// is at its rate limit, or certainly does not have the message: see
// [notification.ProviderError.PassesOn]. If a provider may have the message from an earlier attempt, Send
// asks only that provider. If all providers rest or are at their limits, Send asks nobody, and the error
// is a [notification.RestError]. ctx limits the calls to all providers together.
//
// If the process dies before the answer is recorded, the repeat asks in the same order again. So a
// crash may repeat one message, even through another provider.
func (f *Failover) Send(ctx context.Context, msg notification.Message) (answer notification.Answer, err error) {
	var failures []*notification.ProviderError
	providers := f.askedFor(msg)
	for i, p := range providers {
		answer, err = p.ask(ctx, f.board, msg)
		if err == nil {
			answer.Provider, answer.Failover = p.Name, i > 0
			return answer, nil
		}
		var failure *notification.ProviderError
		switch {
		case errors.Is(err, notification.ErrProvidersRest):
			continue
		case !errors.As(err, &failure):
			return answer, err
		}
		failures = append(failures, failure)
		if failure.Class == notification.Ambiguous && !failure.Unsent {
			answer.Provider = p.Name
		}
		if !failure.PassesOn() || ctx.Err() != nil || msg.Expired() {
			break
		}
	}
	if len(failures) == 0 {
		return answer, &notification.RestError{For: f.restsFor(providers)}
	}
	return answer, together(failures)
}

// restsFor returns the time until the first of providers may be asked.
func (f *Failover) restsFor(providers []*Provider) time.Duration {
	first := longestRest
	for _, p := range providers {
		first = min(first, f.board.restsFor(p.Name))
	}
	return first
}

// askedFor returns the providers to ask: first the provider that an operator chose, then the others in
// their order. If the provider that may have the message is no longer configured, it returns all
// providers.
func (f *Failover) askedFor(msg notification.Message) []*Provider {
	if i := slices.IndexFunc(f.providers, func(p *Provider) bool { return p.Name == msg.Provider }); i >= 0 {
		return f.providers[i : i+1]
	}
	used := slices.IndexFunc(f.providers, func(p *Provider) bool { return f.board.used(p.Name) })
	if used <= 0 {
		return f.providers
	}
	first := f.providers[used]
	return append([]*Provider{first}, slices.DeleteFunc(slices.Clone(f.providers), func(p *Provider) bool { return p == first })...)
}

// together returns the failure of a message that several providers did not take. It has the class of the
// last failure, unless that failure rejects our account and another provider is only busy.
func together(failures []*notification.ProviderError) error {
	counts := failures[len(failures)-1]
	if len(failures) == 1 {
		return counts
	}
	var texts []string
	for _, failure := range failures {
		texts = append(texts, failure.Error())
		if counts.Class == notification.Account && failure.Class != notification.Account {
			counts = failure
		}
	}
	return &allFailed{strings.Join(texts, "; "), counts}
}

// allFailed is the failure of several providers.
type allFailed struct {
	text   string
	counts *notification.ProviderError
}

func (e *allFailed) Error() string { return e.text }

func (e *allFailed) Unwrap() error { return e.counts }
