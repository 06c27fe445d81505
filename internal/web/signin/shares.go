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
	InARow    int     // maximum burst of requests
	AtOnce    int     // maximum requests in flight; more wait
}

// UsualShare is enough for 20 tabs that load the page at the same time.
var UsualShare = Share{PerSecond: 20, InARow: 100, AtOnce: 8}

// Shares limits the requests of each recipient, so that no recipient starves the others.
type Shares struct {
	share Share

	mu     sync.Mutex
	recent map[notification.RecipientKey]*use
	before map[notification.RecipientKey]*use // the content of recent when it was last full
}

// use is the used part of one recipient's share.
type use struct {
	rate  *rate.Limiter
	slots chan struct{} // one for each request in flight
}

// maxRecent is the maximum size of [Shares.recent]. A forgotten recipient has a full share again.
const maxRecent = 10_000

// NewShares returns shares with the same limits for each recipient.
func NewShares(share Share) *Shares {
	return &Shares{share: share, recent: map[notification.RecipientKey]*use{}}
}

// Enter counts a request until leave is called. It waits while AtOnce others are in flight. It
// returns a [*Refusal] after too many requests, or if ctx ends first.
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
