package channel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"herald/internal/notification"
)

const (
	// A provider rests after more than half of a process's calls within restPeriod have failed,
	// if there were at least restCalls.
	restRate   = 0.51
	restCalls  = 20
	restPeriod = 30 * time.Second
)

// breaker counts a provider's failures in this process. The board has the rest.
type breaker struct {
	circuitbreaker.CircuitBreaker[any]
	opening atomic.Bool
}

func newBreaker() *breaker {
	return &breaker{CircuitBreaker: circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(restRate, restCalls, restPeriod).Build()}
}

// ask sends a message over the provider. If it rests or is at its limit, the error is [notification.ErrProvidersRest],
// unless the message is the probe.
func (p *Provider) ask(ctx context.Context, board *Board, msg notification.Message) (notification.Answer, error) {
	if !board.resting(p.Name) {
		if !p.takeTurn(ctx, board) {
			return notification.Answer{}, notification.ErrProvidersRest
		}
		answer, err := p.Send(ctx, msg)
		p.calls.count(err)
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
	if board == nil || board.resting(p.Name) {
		return
	}
	if !isOutage(err) {
		p.breaker.RecordSuccess()
		return
	}
	p.breaker.RecordFailure()
	if p.breaker.IsOpen() && p.breaker.opening.CompareAndSwap(false, true) {
		board.rest(ctx, p.Name, err, false)
		p.breaker.Close() // the board says from now on when it works
		p.breaker.opening.Store(false)
	}
}

// isOutage reports whether an error is about the provider: not about the message, and not an end of
// the attempt from our side.
func isOutage(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class != notification.Refused && !failure.Theirs && failure.Code != CodeCancelled
}

// isAnswer reports whether an error is a refusal from the provider itself.
func isAnswer(err error) bool {
	var failure *notification.ProviderError
	return errors.As(err, &failure) && failure.Class == notification.Refused && !failure.Unasked
}
