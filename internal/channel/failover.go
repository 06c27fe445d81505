package channel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"herald/internal/notification"
)

// Provider is a sender with the name of its provider.
type Provider struct {
	Name string
	Sender
}

// Failover sends over the first of a channel's providers that takes the message.
type Failover []Provider

// Send asks one provider after the other. The next one is asked only if the one before it cannot
// have the message: see [notification.ProviderError.PassesOn]. A message that one of them may have
// from an earlier attempt stays with that one. ctx limits all of them together.
func (f Failover) Send(ctx context.Context, msg notification.Message) (answer notification.Answer, err error) {
	var failures []*notification.ProviderError
	for _, p := range f.askedFor(msg) {
		answer, err = p.Send(ctx, msg)
		if err == nil {
			answer.Provider, answer.Failover = p.Name, len(failures) > 0
			return answer, nil
		}
		var failure *notification.ProviderError
		if !errors.As(err, &failure) {
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
	return answer, together(failures)
}

// askedFor returns the providers to ask. Without the provider that may have the message, which is
// no longer configured, all are asked.
func (f Failover) askedFor(msg notification.Message) Failover {
	i := slices.IndexFunc(f, func(p Provider) bool { return p.Name == msg.Provider })
	if i < 0 {
		return f
	}
	return f[i : i+1]
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
