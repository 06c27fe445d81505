package channel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/notification"
)

// Failover sends over the first of a channel's providers that takes the message. Make it with
// [NewFailover]. It is safe for concurrent use.
type Failover struct {
	providers []*Provider
}

// Provider is a sender with the name of its provider.
type Provider struct {
	Name string
	Sender

	breaker failsafe.Executor[notification.Answer] // nil: it never rests
	open    atomic.Bool
}

// NewFailover returns the providers of a channel, in the order in which they are asked. A provider
// that fails rests, while another one takes its place.
func NewFailover(providers ...*Provider) *Failover { return newFailover(firstRest, providers) }

func newFailover(rest time.Duration, providers []*Provider) *Failover {
	if len(providers) > 1 {
		for _, p := range providers {
			p.breaker = p.newBreaker(rest)
		}
	}
	return &Failover{providers}
}

// Providers returns the names of the providers, and whether each rests.
func (f *Failover) Providers() map[string]bool {
	resting := map[string]bool{}
	for _, p := range f.providers {
		resting[p.Name] = p.open.Load()
	}
	return resting
}

// Send asks one provider after the other. The next one is asked only if the one before it rests, or
// cannot have the message: see [notification.ProviderError.PassesOn]. A message that one of them may
// have from an earlier attempt stays with that one. If all rest, all are asked. ctx limits all of
// them together.
//
// If the process dies before the answer is recorded, the repeat asks in the same order again. So a
// crash may repeat one message, also through another provider.
func (f *Failover) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	asked := f.askedFor(msg)
	answer, err := send(ctx, msg, asked, (*Provider).unlessResting)
	if errors.Is(err, circuitbreaker.ErrOpen) {
		return send(ctx, msg, asked, (*Provider).Send)
	}
	return answer, err
}

// send asks providers by a method. The error is ErrOpen if all of them rest.
func send(ctx context.Context, msg notification.Message, providers []*Provider, ask func(*Provider, context.Context, notification.Message) (notification.Answer, error)) (answer notification.Answer, err error) {
	var failures []*notification.ProviderError
	failover := false
	for _, p := range providers {
		answer, err = ask(p, ctx, msg)
		if err == nil {
			answer.Provider, answer.Failover = p.Name, failover
			return answer, nil
		}
		failover = true
		var failure *notification.ProviderError
		switch {
		case errors.Is(err, circuitbreaker.ErrOpen):
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
		return answer, circuitbreaker.ErrOpen
	}
	return answer, together(failures)
}

// askedFor returns the providers to ask. Without the provider that may have the message, which is
// no longer configured, all are asked.
func (f *Failover) askedFor(msg notification.Message) []*Provider {
	i := slices.IndexFunc(f.providers, func(p *Provider) bool { return p.Name == msg.Provider })
	if i < 0 {
		return f.providers
	}
	return f.providers[i : i+1]
}

// together returns the failure of a message that several providers did not take. It counts as the
// last one, unless that one rejects our account and another one is only busy.
func together(failures []*notification.ProviderError) error {
	last := failures[len(failures)-1]
	if len(failures) == 1 {
		return last
	}
	counts := last
	for _, failure := range failures {
		if counts.Class == notification.Account && failure.Class != notification.Account {
			counts = failure
		}
	}
	return &allFailed{failures, counts}
}

// allFailed is the failure of several providers.
type allFailed struct {
	all    []*notification.ProviderError
	counts *notification.ProviderError
}

func (e *allFailed) Error() string {
	texts := make([]string, len(e.all))
	for i, failure := range e.all {
		texts[i] = failure.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *allFailed) Unwrap() error { return e.counts }
