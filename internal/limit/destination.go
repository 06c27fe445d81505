package limit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"sync"
	"time"

	"herald/internal/notification"
)

// tokenAhead is the maximum time that a message waits for its token at one provider. Then Herald asks the
// next provider.
const tokenAhead = 250 * time.Millisecond

// destined is a [Sender] whose messages go to many servers, or to one server that limits each address.
// A limit of one destination says nothing about the others.
type destined interface {
	Destination(msg notification.Message) string
}

// destination returns the part of the provider that has its own rate limit; "": all of it.
func (p *Provider) destination(msg notification.Message) string {
	if sender, ok := p.Sender.(destined); ok {
		return sender.Destination(msg)
	}
	return ""
}

// pauses holds the times before which destinations take no messages.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// left returns the remaining pause of a destination; 0 or less: none.
func (p *pauses) left(destination string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.until[destination])
}

// begin begins a pause, and forgets the pauses that are over.
func (p *pauses) begin(destination string, length time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.until, func(_ string, until time.Time) bool { return until.Before(now) })
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	p.until[destination] = now.Add(length)
}

// pauseAfter begins a pause of a destination that asks for one, such as a Slack webhook by a 429.
func (p *Provider) pauseAfter(msg notification.Message, err error) {
	failure, ok := errors.AsType[*notification.ProviderError](err)
	if destination := p.destination(msg); ok && failure.RetryAfter > 0 && destination != "" {
		p.pauses.begin(destination, failure.RetryAfter)
	}
}

// takeToken waits for a token of the rate limit of the provider, or of the message's
// destination. If that takes no message now, or the database gives no token, the error is
// [notification.ErrBackOff].
func (p *Provider) takeToken(ctx context.Context, circuits *Circuits, msg notification.Message) error {
	destination := p.destination(msg)
	if left := p.pauses.left(destination); left > 0 {
		return &notification.BackOffError{For: left, Alone: destination != ""}
	}
	tokens := p.Tokens
	if tokens == nil && circuits != nil {
		tokens = circuits.states
	}
	if p.RateLimit == 0 || tokens == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	taken, err := tokens.TakeTokens(ctx, Wanted{Name: tokenName(p.Name, destination), Rate: p.RateLimit, Most: 1, Ahead: tokenAhead})
	if err != nil || taken.Granted == 0 {
		p.pauses.begin(destination, taken.Wait)
		return &notification.BackOffError{For: taken.Wait, Alone: destination != ""}
	}
	time.Sleep(taken.Wait) // at most tokenAhead, and the token is taken
	return nil
}

// tokenName names the tokens of a provider, or of one destination. It hides an address, which may be a
// secret.
func tokenName(provider, destination string) string {
	if destination == "" {
		return provider
	}
	sum := sha256.Sum256([]byte(destination))
	return provider + " " + hex.EncodeToString(sum[:16])
}
