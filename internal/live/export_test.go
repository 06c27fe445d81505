package live

import "time"

// Times are those of a hub, for tests that do not want to wait.
type Times struct {
	Ping, Pong, Write, Page, Frame, Goodbye, Activity time.Duration
}

// NewQuickHub is [NewHub] with other times, where they are not 0. Its looks follow each
// other sooner than usual.
func NewQuickHub(cfg Config, t Times) (*Hub, error) {
	quick := usual
	quick.tick, quick.flush, quick.retry, quick.maxRetry = 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond, 100*time.Millisecond
	quick.late = []time.Duration{50 * time.Millisecond, time.Second, 15 * time.Second}
	for _, other := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&quick.ping, t.Ping}, {&quick.pong, t.Pong}, {&quick.write, t.Write}, {&quick.page, t.Page}, {&quick.frame, t.Frame}, {&quick.goodbye, t.Goodbye}, {&quick.activity, t.Activity},
	} {
		if other.value != 0 {
			*other.field = other.value
		}
	}
	return newHub(cfg, quick)
}

// HeldBytes counts the bytes of pages that sockets hold.
func (h *Hub) HeldBytes() (held int64) {
	for _, s := range h.all() {
		s.mu.Lock()
		held += s.held
		s.mu.Unlock()
	}
	return held
}

// WaitingPages counts the sockets whose recipient has read too many pages.
func (h *Hub) WaitingPages() (waiting int) {
	for _, s := range h.all() {
		s.mu.Lock()
		if s.reading && !s.retryAt.IsZero() {
			waiting++
		}
		s.mu.Unlock()
	}
	return waiting
}
