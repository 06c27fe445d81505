package limit

import (
	"context"
	"errors"
	"sync"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	// A circuit opens after more than half of a process's calls within tripWindow have failed, if
	// there were at least tripCalls.
	tripCalls  = 20
	tripWindow = 30 // seconds
)

// breaker counts a provider's calls in this process, second by second. [Circuits] holds the
// state of all processes.
type breaker struct {
	mu      sync.Mutex
	seconds [tripWindow]struct {
		at              int64 // Unix time
		calls, failures int
	}
}

// record counts a call. It reports whether the circuit has to open. Then it begins again at zero.
func (b *breaker) record(failed bool) (trips bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().Unix()
	second := &b.seconds[now%tripWindow]
	if second.at != now {
		second.at, second.calls, second.failures = now, 0, 0
	}
	second.calls++
	if !failed {
		return false
	}
	second.failures++
	calls, failures := 0, 0
	for _, s := range b.seconds {
		if s.at > now-tripWindow {
			calls, failures = calls+s.calls, failures+s.failures
		}
	}
	if trips = calls >= tripCalls && 2*failures > calls; trips {
		clear(b.seconds[:])
	}
	return trips
}

// ask sends a message over the provider. If its circuit is open or it is at its limit, the error is
// [notification.ErrBackOff], unless the message is the probe.
func (p *Provider) ask(ctx context.Context, circuits *Circuits, msg notification.Message) (notification.Answer, error) {
	if !circuits.isOpen(p.Name) {
		if err := p.takeToken(ctx, circuits, msg); err != nil {
			return notification.Answer{}, err
		}
		answer, err := p.Send(ctx, msg)
		p.calls.count(err)
		p.pauseAfter(msg, err)
		p.note(ctx, circuits, err)
		return answer, err
	}
	if !circuits.claimProbe(ctx, p.Name) {
		return notification.Answer{}, notification.ErrBackOff
	}
	answer, err := p.Send(ctx, msg)
	p.calls.count(err)
	circuits.endProbe(ctx, p.Name, err)
	return answer, err
}

// note counts the result of a call, and opens the circuit after too many failures.
func (p *Provider) note(ctx context.Context, circuits *Circuits, err error) {
	if circuits != nil && !circuits.isOpen(p.Name) && p.breaker.record(isOutage(err)) {
		circuits.trip(ctx, p.Name, err, false)
	}
}

// isOutage reports whether the provider caused an error, rather than the message or our own end of the
// attempt.
func isOutage(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class != notification.Refused && !failure.Theirs && failure.Code != channel.CodeCancelled
}

// isAnswer reports whether an error is a refusal from the provider itself.
func isAnswer(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class == notification.Refused && !failure.Unasked
}
