package signin

import (
	"context"
	"sync"

	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// Share limits the requests of one recipient.
type Share struct {
	PerSecond float64 // requests, on average
	InARow    int     // requests after a rest
	AtOnce    int     // requests in flight; others wait
}

// UsualShare does for 20 tabs that load the page at once.
var UsualShare = Share{PerSecond: 20, InARow: 100, AtOnce: 8}

// Shares bounds the requests of each recipient, so that none of them starves the others.
type Shares struct {
	share Share

	mu     sync.Mutex
	recent map[notification.RecipientKey]*use
	before map[notification.RecipientKey]*use // recent until it was full
}

// use is the used part of one recipient's share.
type use struct {
	rate  *rate.Limiter
	slots chan struct{} // of requests in flight
}

// maxRecent bounds [Shares.recent]. A recipient who is forgotten has a whole share again.
const maxRecent = 10_000

// NewShares returns shares that are all alike.
func NewShares(share Share) *Shares {
	return &Shares{share: share, recent: map[notification.RecipientKey]*use{}}
}

// Enter counts a request, which lasts until leave is called. It waits while others are in
// flight. The error is a [*Refusal] where there are too many.
func (s *Shares) Enter(ctx context.Context, who notification.RecipientKey) (leave func(), err error) {
	used := s.of(who)
	if !used.rate.Allow() {
		return nil, &Refusal{TooMany}
	}
	select {
	case used.slots <- struct{}{}:
		return func() { <-used.slots }, nil
	case <-ctx.Done():
		return nil, &Refusal{TooMany}
	}
}

func (s *Shares) of(who notification.RecipientKey) *use {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := s.recent[who]; used != nil {
		return used
	}
	used := s.before[who]
	if used == nil {
		used = &use{rate.NewLimiter(rate.Limit(s.share.PerSecond), s.share.InARow), make(chan struct{}, s.share.AtOnce)}
	}
	if len(s.recent) >= maxRecent {
		s.before, s.recent = s.recent, map[notification.RecipientKey]*use{}
	}
	s.recent[who] = used
	return used
}
