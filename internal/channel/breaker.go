package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"herald/internal/notification"
)

const (
	// A provider rests after more than half of a process's calls within restPeriod have failed,
	// if there were at least restCalls.
	restCalls  = 20
	restPeriod = 30 // seconds
)

// breaker counts a provider's calls in this process, second by second. The board holds the state of
// all processes.
type breaker struct {
	mu      sync.Mutex
	seconds [restPeriod]struct {
		at              int64 // Unix time
		calls, failures int
	}
}

// record counts a call. It reports whether the provider has to rest. Then it begins again at zero.
func (b *breaker) record(failed bool) (rests bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().Unix()
	second := &b.seconds[now%restPeriod]
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
		if s.at > now-restPeriod {
			calls, failures = calls+s.calls, failures+s.failures
		}
	}
	if rests = calls >= restCalls && 2*failures > calls; rests {
		clear(b.seconds[:])
	}
	return rests
}

// ask sends a message over the provider. If it rests or is at its limit, the error is
// [notification.ErrProvidersRest], unless the message is the probe.
func (p *Provider) ask(ctx context.Context, board *Board, msg notification.Message) (notification.Answer, error) {
	if !board.resting(p.Name) {
		if err := p.takeTurn(ctx, board, msg); err != nil {
			return notification.Answer{}, err
		}
		answer, err := p.Send(ctx, msg)
		p.calls.count(err)
		p.pauseAfter(msg, err)
		p.note(ctx, board, err)
		return answer, err
	}
	if !board.claimProbe(ctx, p.Name) {
		return notification.Answer{}, notification.ErrProvidersRest
	}
	answer, err := p.Send(ctx, msg)
	p.calls.count(err)
	board.endProbe(ctx, p.Name, err)
	return answer, err
}

// note counts the result of a call, and lets the provider rest after too many failures.
func (p *Provider) note(ctx context.Context, board *Board, err error) {
	if board != nil && !board.resting(p.Name) && p.breaker.record(isOutage(err)) {
		board.rest(ctx, p.Name, err, false)
	}
}

// isOutage reports whether the provider caused an error, rather than the message or our own end of the
// attempt.
func isOutage(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class != notification.Refused && !failure.Theirs && failure.Code != CodeCancelled
}

// isAnswer reports whether an error is a refusal from the provider itself.
func isAnswer(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class == notification.Refused && !failure.Unasked
}
