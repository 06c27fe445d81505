package live

import (
	"context"
)

// Drain tells all clients to come back elsewhere, opens no more sockets, records what was
// acknowledged and stops the hub. Where ctx ends first, what is still open is broken off.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	if !h.draining {
		h.draining = true
		if h.count == 0 {
			close(h.empty)
		}
	}
	h.mu.Unlock()
	for _, s := range h.all() {
		s.cut(restarting)
	}
	select {
	case <-h.empty:
	case <-ctx.Done():
		for _, s := range h.all() {
			_ = s.raw.Close()
		}
	}
	h.stop()
	h.running.Wait()
	return h.acks.record(ctx)
}
