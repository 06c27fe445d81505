package live

import (
	"context"
	"time"

	"herald/internal/notification"
)

// look does the work that is due for each socket: closing, pinging and reading pages.
func (h *Hub) look() {
	now := time.Now()
	for _, s := range h.all() {
		s.look(now)
	}
}

func (s *socket) look(now time.Time) {
	if s.lateIsDue(now) {
		s.ask(request{kind: late})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.end != nil:
	case !now.Before(s.who.Expires):
		s.close(expired)
	case len(s.page) > 0 && now.After(s.writeBy):
		s.close(slow)
	case s.reading && !s.retryAt.IsZero() && !now.Before(s.retryAt):
		s.queue()
	case !now.Before(s.pingAt) && !s.writing:
		s.pingAt = now.Add(s.hub.ping)
		go s.sayPing()
	}
}

func (s *socket) lateIsDue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lateAt) == 0 || now.Before(s.lateAt[0]) {
		return false
	}
	s.lateAt = s.lateAt[1:]
	return true
}

// recipientsAtOnce is the maximum number of recipients in a query for active recipients.
const recipientsAtOnce = 1000

// cutOffInactive closes the sockets of recipients who are no longer active. While the database is
// down, it closes none.
func (h *Hub) cutOffInactive() {
	h.mu.RLock()
	who := make([]notification.RecipientKey, 0, len(h.rooms))
	for key := range h.rooms {
		who = append(who, key)
	}
	h.mu.RUnlock()
	for len(who) > 0 {
		some := who[:min(len(who), recipientsAtOnce)]
		who = who[len(some):]
		if err := h.cutOffInactiveOf(some); err != nil {
			h.Logger.Warn("cannot check now whether recipients are still active", "error", err)
			return
		}
	}
}

func (h *Hub) cutOffInactiveOf(who []notification.RecipientKey) error {
	ctx, cancel := context.WithTimeout(h.life, h.query)
	defer cancel()
	found, err := h.Directory.ActiveRecipients(ctx, who)
	if err != nil {
		return err
	}
	active := make(map[notification.RecipientKey]bool, len(found))
	for _, key := range found {
		active[key] = true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, key := range who {
		if r := h.rooms[key]; r != nil && !active[key] {
			for _, s := range r.sockets {
				s.cut(deactivated)
			}
		}
	}
	return nil
}
