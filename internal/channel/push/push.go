// Package push sends each device its message through the provider of its kind. It also holds the
// code that these providers share. Package wiring lists the providers.
package push

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Sender passes a message to the providers of the recipient's devices. Make it with [NewSender]. It
// is safe for concurrent use.
type Sender struct {
	providers []Provider
}

// Provider reaches the devices of one kind. If it fails or rests, no other provider replaces it, because
// none reaches these devices.
type Provider struct {
	Kind notification.DeviceKind
	Counted
}

// Counted is a sender that counts its calls, and knows whether its circuit is open.
type Counted interface {
	channel.Sender
	OpenCircuits() map[string]bool
	Calls() map[string]map[notification.AttemptOutcome]int64
}

// NewSender returns a sender over providers of different kinds.
func NewSender(providers ...Provider) *Sender { return &Sender{providers} }

// OpenCircuits maps the name of each provider to whether its circuit is open, or the provider is paused.
func (s *Sender) OpenCircuits() map[string]bool {
	open := map[string]bool{}
	for _, p := range s.providers {
		maps.Copy(open, p.OpenCircuits())
	}
	return open
}

// Calls returns how often this process has called each provider, by outcome.
func (s *Sender) Calls() map[string]map[notification.AttemptOutcome]int64 {
	calls := map[string]map[notification.AttemptOutcome]int64{}
	for _, p := range s.providers {
		maps.Copy(calls, p.Calls())
	}
	return calls
}

// errOff means that every provider for the recipient's devices is off.
var errOff = &notification.NotConfiguredError{Channel: notification.Push, Why: errors.New("the provider of the recipient's devices is off")}

// Send passes msg to the providers of its devices concurrently. It succeeds if one device accepted
// the message. The answer names all dead devices, even with an error. If all providers rest, the error
// is [notification.ErrBackOff].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if len(msg.Devices) == 0 {
		return notification.Answer{}, channel.Refuse("push", CodeNoDevice)
	}
	var results []*result
	var sends sync.WaitGroup
	for _, p := range s.providers {
		part := msg
		part.Devices = slices.DeleteFunc(slices.Clone(msg.Devices), func(token string) bool { return notification.KindOf(token) != p.Kind })
		part.Provider = "" // a repeat goes to the devices of all providers, and replaces the message there
		if len(part.Devices) == 0 {
			continue
		}
		r := &result{kind: p.Kind}
		results = append(results, r)
		sends.Go(func() { r.answer, r.err = p.Send(ctx, part) })
	}
	sends.Wait()
	return combine(results)
}

// result is a provider's answer for all of its devices.
type result struct {
	kind   notification.DeviceKind
	answer notification.Answer
	err    error
}

func (r *result) rests() bool { return errors.Is(r.err, notification.ErrBackOff) }

// rank orders results: first a success, then the failures for which a retry is most likely to succeed.
func (r *result) rank() int {
	var failure *notification.ProviderError
	switch {
	case r.err == nil:
		return -1
	case r.rests():
		return 0 // a resting provider counts as busy
	case errors.As(r.err, &failure):
		return promise(failure)
	default:
		return len(byPromise)
	}
}

// combine returns the best of the results, with the dead devices of all.
func combine(results []*result) (notification.Answer, error) {
	if len(results) == 0 {
		return notification.Answer{}, errOff
	}
	best := slices.MinFunc(results, func(a, b *result) int { return a.rank() - b.rank() })
	answer, err := best.answer, best.err
	for _, r := range results {
		if r != best {
			answer.DeadDevices = append(answer.DeadDevices, r.answer.DeadDevices...)
			answer.Took = max(answer.Took, r.answer.Took)
		}
		if best.rests() && !r.rests() { // another provider was asked, so the attempt must end: without a record, retries would never end
			err = &notification.ProviderError{Provider: string(best.kind), Class: notification.Busy, Code: "rests"}
		}
	}
	return answer, err
}
