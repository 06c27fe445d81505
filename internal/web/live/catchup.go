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
	after  asked = iota // everything after a notification that the client has
	unread              // unread notifications
	missed              // notifications that the broker may not have delivered
	late                // notifications recorded after the socket's catch-up
)

func (a asked) String() string { return [...]string{"after", "unread", "missed", "late"}[a] }

// request is one catch-up.
type request struct {
	kind  asked
	id    int64     // for after: the client's last notification
	since time.Time // for missed: the beginning of the gap
}

// catching is the progress of a socket's catch-ups, which run one after the other. Messages from
// the broker wait for the end of the last catch-up.
type catching struct {
	requests []request                  // the first request is running
	pages    *rate.Limiter              // limits the pages of the recipient
	reading  bool                       // a page of the first request is being read, or waits for a reader
	held     int64                      // bytes of the page being written
	writeBy  time.Time                  // deadline for writing this page
	last     bool                       // the page just read is the last page
	position notification.InboxPosition // the next page begins after this position; zero before the first page
	began    time.Time                  // when the first page was requested
	failures int
	retryAt  time.Time // when to read, after a failure or too many pages; zero: the page is queued
	complete time.Time // the socket needs no row that the table had before this time
	asked    bool      // the client has asked for a catch-up, so it wants messages from before the socket opened
	lateAt   []time.Time
}

// ask adds a catch-up. It returns false if the client has too many waiting catch-ups.
func (s *socket) ask(r request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return true
	}
	if len(s.requests) >= maxRequests {
		return r.kind == missed || r.kind == late // the waiting requests also read to the end
	}
	s.asked = s.asked || r.kind == after || r.kind == unread
	s.requests = append(s.requests, r)
	if len(s.requests) == 1 {
		s.begin()
	}
	return true
}

// begin starts to read the first request; mu is held.
func (s *socket) begin() {
	s.position, s.began, s.failures, s.last = notification.InboxPosition{}, time.Now(), 0, false
	s.readNext()
}

// readNext schedules the next page, within the recipient's rate limit; mu is held.
func (s *socket) readNext() {
	s.reading, s.retryAt = true, time.Time{}
	if wait := s.pages.Reserve().Delay(); wait > 0 {
		s.retryAt = time.Now().Add(wait)
		return
	}
	s.queue()
}

// queue queues the socket to read a page now; mu is held.
func (s *socket) queue() {
	s.retryAt = time.Time{}
	select {
	case s.hub.catchUps <- s:
	default: // full, because it still holds closed sockets: look tries again
		s.retryAt = time.Now()
	}
}

// proceed continues after a page was written: with the next page or the next request; mu is held.
func (s *socket) proceed() {
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

// readPage reads one page, and passes it to the goroutine that writes. If the database does not
// answer, the socket stays open and readPage is repeated later.
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
		h.failed.Do(func() { h.Logger.Warn("catch-ups of sockets fail now; the sockets wait", "error", err) })
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

// releasePage frees the written page's share of heldPages; mu is held.
func (s *socket) releasePage() {
	s.hub.pages.Release(s.held)
	s.held = 0
}

// from returns the time at which the first page of a request begins; mu is held. Requests of the
// kinds after and unread do not use it.
func (s *socket) from(r request) time.Time {
	from := s.complete
	if r.kind == missed && r.since.After(from) {
		from = r.since
	}
	from = from.Add(-readBack)
	if !s.asked && from.Before(s.opened) {
		from = s.opened // the client wants nothing from before it opened the socket
	}
	return from
}

// items reads a page of a request. position is the end of the previous page; zero for the first
// page. If r names an unknown notification, items changes its kind to unread.
func (h *Hub) items(
	ctx context.Context, who notification.RecipientKey, r *request, position notification.InboxPosition, from time.Time,
) (notification.InboxPage, error) {
	if position == (notification.InboxPosition{}) {
		var err error
		if position, err = h.first(ctx, who, r, from); err != nil {
			return notification.InboxPage{}, err
		}
	}
	return h.Inbox.InboxAfter(ctx, who, position, r.kind == unread, pageSize)
}

// first returns the position after which a request begins to read.
func (h *Hub) first(ctx context.Context, who notification.RecipientKey, r *request, from time.Time) (notification.InboxPosition, error) {
	position := notification.InboxPosition{AvailableAt: from}
	if r.kind == after {
		known, err := h.Inbox.InboxPositionOf(ctx, who, r.id)
		switch {
		case errors.Is(err, notification.ErrNoNotification): // it was deleted, or is another recipient's
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

// take converts a page's items to frames; mu is held.
func (s *socket) take(r request, items []notification.InboxItem) {
	for _, item := range items {
		s.position = item.Position()
		if r.kind == after && int64(item.NotificationID) == r.id || r.kind == late && item.ReadAt != nil {
			continue // the client has the notification, or has read it elsewhere
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
