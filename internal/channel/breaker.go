package channel

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/notification"
)

const (
	// A provider rests after more than half of its calls within restPeriod have failed, if there
	// were at least restCalls.
	restRate   = 0.51
	restCalls  = 20
	restPeriod = 30 * time.Second

	// firstRest is the length of the first rest. Each further one takes twice as long, until one
	// call, the probe, succeeds.
	firstRest   = 5 * time.Second
	longestRest = 5 * time.Minute
)

// newBreaker returns the circuit breaker of a provider. Each process has its own.
func (p *Provider) newBreaker(rest time.Duration) failsafe.Executor[notification.Answer] {
	var rests atomic.Int64 // since it last worked
	breaker := circuitbreaker.NewBuilder[notification.Answer]().
		HandleIf(func(_ notification.Answer, err error) bool { return isOutage(err) }).
		WithFailureRateThreshold(restRate, restCalls, restPeriod).
		WithSuccessThreshold(1).
		WithDelayFunc(func(failsafe.ExecutionAttempt[notification.Answer]) time.Duration {
			length := lengthOf(rest, int(rests.Add(1)))
			slog.Warn("a provider rests: it fails", "provider", p.Name, "for", length)
			return length
		}).
		OnStateChanged(func(e circuitbreaker.StateChangedEvent) {
			p.open.Store(e.NewState != circuitbreaker.ClosedState)
			if e.NewState == circuitbreaker.ClosedState {
				rests.Store(0)
				slog.Info("a provider works again", "provider", p.Name)
			}
		}).
		Build()
	return failsafe.With(breaker)
}

// lengthOf returns the length of the nth rest in a row.
func lengthOf(first time.Duration, n int) time.Duration {
	return min(first<<min(n-1, 10), longestRest)
}

// unlessResting sends a message, unless the provider rests: then the error is ErrOpen.
func (p *Provider) unlessResting(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if p.breaker == nil {
		return p.Send(ctx, msg)
	}
	return p.breaker.Get(func() (notification.Answer, error) { return p.Send(ctx, msg) })
}

// isOutage reports whether an error is about the provider: not about the message, and not an end of
// the attempt from our side.
func isOutage(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class != notification.Refused && failure.Code != CodeCancelled
}
