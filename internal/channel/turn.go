package channel

import (
	"context"
	"time"

	"herald/internal/notification"
)

// turnAhead is the maximum time that a message waits for its turn at one provider. Then Herald asks the
// next provider.
const turnAhead = 250 * time.Millisecond

// takeTurn waits for the message's turn under the provider's rate limit, which all processes share.
// It reports false if the provider is at its limit, or if the database gives no turns.
func (p *Provider) takeTurn(ctx context.Context, board *Board) bool {
	if p.RateLimit == 0 || board == nil {
		return true
	}
	if time.Now().UnixNano() < p.fullUntil.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	turns, err := board.states.TakeTurns(ctx, notification.TurnsWanted{Name: p.Name, Rate: p.RateLimit, Most: 1, Ahead: turnAhead})
	if err != nil || turns.Granted == 0 {
		p.fullUntil.Store(time.Now().Add(turns.Wait).UnixNano())
		return false
	}
	time.Sleep(turns.Wait)
	return true
}
