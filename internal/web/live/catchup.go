package live

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// asked is the range of a socket's catch-up.
type asked int

const (
	after  asked = iota // what came after a notification that the client has
	unread              // what is not read
	missed              // what the broker may not have brought
	late                // what the table may not have had yet when the socket was caught up
)

func (a asked) String() string { return [...]string{"after", "unread", "missed", "late"}[a] }

// request is one catch-up.
type request struct {
	kind  asked
	id    int64     // of after: the client's last
	since time.Time // of missed
}

// catching is the progress of a socket's catch-ups. They follow each other; what the
// broker brings waits for the last.
type catching struct {
	requests []request                  // the first is under way
	pages    *rate.Limiter              // of the recipient
	reading  bool                       // a page of the first is being read, or waits to be
	held     int64                      // bytes of the page that is being written
	writeBy  time.Time                  // when that page must be written
	last     bool                       // the page that was read is the last
	position notification.InboxPosition // behind which the next page begins; zero: there was none
	began    time.Time                  // when the first page was asked for
	failures int
	retryAt  time.Time // when to read, after a failure or too many pages; zero: now
	complete time.Time // what the table showed before, the socket has had, or did not ask for
	asked    bool      // the client has asked for a catch-up, so it wants what came before it
	lateAt   []time.Time
}

// ask adds a catch-up. It returns false where too many wait.
func (s *socket) ask(r request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return true
	}
	if len(s.requests) >= maxRequests {
		return r.kind == missed || r.kind == late // the requests that wait read to the end as well
	}
	s.asked = s.asked || r.kind == after || r.kind == unread
	s.requests = append(s.requests, r)
	if len(s.requests) == 1 {
		s.begin()
	}
	return true
}

// begin has the first page of the first request read; mu is held.
func (s *socket) begin() {
	s.position, s.began, s.failures, s.last = notification.InboxPosition{}, time.Now(), 0, false
	s.readNext()
}

// readNext has a page read as soon as the recipient may read another; mu is held.
func (s *socket) readNext() {
	s.reading, s.retryAt = true, time.Time{}
	if wait := s.pages.Reserve().Delay(); wait > 0 {
		s.retryAt = time.Now().Add(wait)
		return
	}
	s.queue()
}

// queue has a page read now; mu is held.
func (s *socket) queue() {
	s.retryAt = time.Time{}
	select {
	case s.hub.catchUps <- s:
	default: // it is full of sockets that have gone
		s.retryAt = time.Now()
	}
}

// goOn is called when a page was written; mu is held.
func (s *socket) goOn() {
	s.releasePage()
	if !s.last {
		s.readNext()
		return
	}
	done := s.requests[0]
	s.requests = s.requests[1:]
	s.hub.metrics.caughtUp(done.kind, true)
	if done.kind != late {
		s.complete = s.began
		s.lateAt = s.lateAt[:0]
		for _, delay := range s.hub.late {
			s.lateAt = append(s.lateAt, time.Now().Add(delay))
		}
	}
	if len(s.requests) > 0 {
		s.begin()
	}
}

// readPages reads pages for sockets until the hub stops.
func (h *Hub) readPages() {
	for {
		select {
		case s := <-h.catchUps:
			h.readPage(s)
		case <-h.life.Done():
			return
		}
	}
}

// readPage reads one page, and hands it to the goroutine that writes. A database that is
// away is asked again later: the socket stays.
func (h *Hub) readPage(s *socket) {
	if h.pages.Acquire(h.life, notification.InboxPageBytes) != nil {
		return // the hub stops
	}
	held := int64(notification.InboxPageBytes)
	defer func() { h.pages.Release(held) }()
	s.mu.Lock()
	if s.end != nil {
		s.mu.Unlock()
		return
	}
	r, position := s.requests[0], s.position
	from := s.from(r)
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(h.life, h.query)
	defer cancel()
	page, err := h.items(ctx, s.who.RecipientKey, &r, position, from)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return
	}
	if err != nil {
		h.metrics.caughtUp(r.kind, false)
		h.failed.Do(func() { h.Logger.Warn("sockets cannot be caught up now; they wait", "error", err) })
		s.retryAt = time.Now().Add(min(h.retry<<min(s.failures, 10), h.maxRetry))
		s.failures++
		return
	}
	s.requests[0] = r
	s.failures, s.reading, s.last = 0, false, !page.More
	s.take(r, page.Items)
	s.writeBy = time.Now().Add(h.times.page)
	held -= s.held
	s.wake()
}

// releasePage counts the page no more; mu is held.
func (s *socket) releasePage() {
	s.hub.pages.Release(s.held)
	s.held = 0
}

// from is the time from which the first page of a request is read; mu is held. It is not
// used where the request names a notification.
func (s *socket) from(r request) time.Time {
	from := s.complete
	if r.kind == missed && r.since.After(from) {
		from = r.since
	}
	from = from.Add(-readBack)
	if !s.asked && from.Before(s.opened) {
		from = s.opened // the client wants nothing of before
	}
	return from
}

// items reads a page of a request. position is the end of the page before; zero: there was
// none. A request after a notification that is not there becomes one for what is unread.
func (h *Hub) items(ctx context.Context, who notification.RecipientKey, r *request, position notification.InboxPosition, from time.Time) (notification.InboxPage, error) {
	if position == (notification.InboxPosition{}) {
		var err error
		if position, err = h.first(ctx, who, r, from); err != nil {
			return notification.InboxPage{}, err
		}
	}
	return h.Inbox.InboxAfter(ctx, who, position, r.kind == unread, pageSize)
}

// first returns where a request begins to read.
func (h *Hub) first(ctx context.Context, who notification.RecipientKey, r *request, from time.Time) (notification.InboxPosition, error) {
	position := notification.InboxPosition{AvailableAt: from}
	if r.kind == after {
		known, err := h.Inbox.InboxPositionOf(ctx, who, r.id)
		switch {
		case errors.Is(err, notification.ErrNoNotification): // deleted since, or never theirs
			r.kind = unread
		case err != nil:
			return position, err
		}
		position.AvailableAt = known.AvailableAt.Add(-readBack)
	}
	if r.kind == unread {
		return h.Inbox.UnreadPosition(ctx, who, notification.MaxUnread)
	}
	return position, nil
}

// take makes frames of a page; mu is held.
func (s *socket) take(r request, items []notification.InboxItem) {
	for _, item := range items {
		s.position = item.Position()
		if r.kind == after && item.NotificationID == r.id || r.kind == late && item.ReadAt != nil {
			continue // the client has the one, and has read the other in another place
		}
		f, err := frameOf(item)
		if err != nil {
			s.hub.Logger.Warn("a notification cannot be shown", "id", item.NotificationID, "error", err)
			continue
		}
		s.page = append(s.page, f)
		s.held += int64(len(f.body))
	}
}
