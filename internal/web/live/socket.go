package live

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"herald/internal/web/signin"
)

// socket is a WebSocket of a client. One goroutine reads from it. A second goroutine runs only
// while there is something to write, because thousands of sockets are idle.
type socket struct {
	hub    *Hub
	who    signin.Identity
	conn   *websocket.Conn
	raw    net.Conn // the connection under conn, to set its deadlines
	opened time.Time

	writers sync.WaitGroup // zero or one goroutine

	mu      sync.Mutex
	writing bool
	end     *ending // nil while the socket is open
	live    []frame // frames from the broker, which wait until the socket is caught up
	bytes   int     // size of the frames in live
	page    []frame // frames from the table
	sent    sentIDs
	pingAt  time.Time
	catching
}

// push queues a message from the broker. It cuts the socket off if too many messages wait.
func (s *socket) push(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return
	}
	if len(s.live) > 0 && (len(s.live) >= maxQueuedFrames || s.bytes+len(f.body) > maxQueuedBytes) {
		s.close(slow)
		return
	}
	s.live = append(s.live, f)
	s.bytes += len(f.body)
	s.wake()
}

// cut closes the socket. If the socket is closing already, cut does nothing.
func (s *socket) cut(why ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(why)
}

// close does the same as cut; mu is held.
func (s *socket) close(why ending) {
	if s.end != nil {
		return
	}
	s.end = &why
	s.live, s.page, s.requests = nil, nil, nil
	s.releasePage()
	if why == gone {
		_ = s.raw.Close()
		return
	}
	s.hub.metrics.cutOff(why)
	_ = s.raw.SetWriteDeadline(time.Now().Add(s.hub.goodbye)) // a write may be blocked
	s.wake()
}

// wake starts the writing goroutine unless it runs; mu is held.
func (s *socket) wake() {
	if !s.writing {
		s.writing = true
		s.writers.Go(s.write)
	}
}

// write writes frames until none is left, or the socket ends.
func (s *socket) write() {
	for {
		f, end, more := s.next()
		switch {
		case end != nil:
			s.sayGoodbye(*end)
			return
		case !more:
			return
		}
		if err := s.writeFrame(f.body); err != nil {
			s.cutAfter(err)
			_ = s.raw.Close() // nothing can follow a partly written frame
			return
		}
		s.hub.metrics.sent(f.kind)
	}
}

// next returns the frame to write next: first frames from the table, and when the socket is caught
// up, frames from the broker. It skips notifications that were sent already.
func (s *socket) next() (f frame, end *ending, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.end == nil {
		switch {
		case len(s.page) > 0:
			f, s.page = takeFirst(s.page)
		case s.reading:
			s.page, s.writing = nil, false
			return frame{}, nil, false
		case len(s.requests) > 0:
			s.proceed()
			continue
		case len(s.live) > 0:
			f, s.live = takeFirst(s.live)
			s.bytes -= len(f.body)
		default:
			s.live, s.page, s.writing = nil, nil, false
			return frame{}, nil, false
		}
		if f.id == 0 || s.sent.add(f.id) {
			return f, nil, true
		}
	}
	return frame{}, s.end, false
}

// takeFirst removes the first frame, and clears its element so that the memory can be freed.
func takeFirst(frames []frame) (first frame, rest []frame) {
	first, frames[0] = frames[0], frame{}
	return first, frames[1:]
}

func (s *socket) writeFrame(body []byte) error {
	if err := s.raw.SetWriteDeadline(time.Now().Add(s.hub.times.write)); err != nil {
		return err
	}
	if err := s.conn.Write(context.Background(), websocket.MessageText, body); err != nil {
		return err
	}
	return s.raw.SetWriteDeadline(time.Time{})
}

// cutAfter closes the socket after a failed write.
func (s *socket) cutAfter(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.cut(slow)
	} else {
		s.cut(gone)
	}
}

// sayGoodbye sends the cause and closes the socket, after times.goodbye even without an answer.
func (s *socket) sayGoodbye(why ending) {
	force := time.AfterFunc(s.hub.goodbye, func() { _ = s.raw.Close() })
	defer force.Stop()
	if why != gone {
		_ = s.conn.Write(context.Background(), websocket.MessageText, why.frame())
		_ = s.conn.Close(why.code, why.cause)
	}
	_ = s.raw.Close()
}

// sayPing sends a ping, and cuts the socket off if there is no answer.
func (s *socket) sayPing() {
	ctx, cancel := context.WithTimeout(s.hub.life, s.hub.pong)
	defer cancel()
	if s.conn.Ping(ctx) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.writing { // a blocked write delays the ping, and has a separate time limit
		s.close(silent)
	}
}
