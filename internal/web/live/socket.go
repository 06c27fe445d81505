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

// socket is one connection of a client. A goroutine reads from it. Another writes, and is
// there only while there is something to write, since thousands of sockets are idle.
type socket struct {
	hub    *Hub
	who    signin.Identity
	conn   *websocket.Conn
	raw    net.Conn // below conn, whose calls have separate deadlines
	opened time.Time

	writers sync.WaitGroup // none or one

	mu      sync.Mutex
	writing bool
	end     *ending // nil: the socket is open
	live    []frame // what the broker brought; it waits until the socket is caught up
	bytes   int     // of live
	page    []frame // what was read from the table
	sent    sentIDs
	pingAt  time.Time
	catching
}

// push queues a message of the broker.
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

// cut closes the socket, unless it is being closed.
func (s *socket) cut(why ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(why)
}

// close is cut, with mu held.
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
	_ = s.raw.SetWriteDeadline(time.Now().Add(s.hub.goodbye)) // a write may be stuck
	s.wake()
}

// wake sees to it that somebody writes; mu is held.
func (s *socket) wake() {
	if !s.writing {
		s.writing = true
		s.writers.Go(s.write)
	}
}

// write writes what there is to write.
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
			_ = s.raw.Close() // half a frame may be written: nothing can follow it
			return
		}
		s.hub.metrics.sent(f.kind)
	}
}

// next returns what is to be written now: first what was read from the table, then, once
// the socket is caught up, what the broker brought. Nothing is sent twice.
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
			s.goOn()
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

// takeFirst does not keep what it takes in memory.
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

// cutAfter notes why the connection broke.
func (s *socket) cutAfter(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.cut(slow)
	} else {
		s.cut(gone)
	}
}

// sayGoodbye tells the client why, and closes the socket, whatever the client does.
func (s *socket) sayGoodbye(why ending) {
	force := time.AfterFunc(s.hub.goodbye, func() { _ = s.raw.Close() })
	defer force.Stop()
	if why != gone {
		_ = s.conn.Write(context.Background(), websocket.MessageText, why.frame())
		_ = s.conn.Close(why.code, why.cause)
	}
	_ = s.raw.Close()
}

// sayPing cuts the socket off if there is no answer.
func (s *socket) sayPing() {
	ctx, cancel := context.WithTimeout(s.hub.life, s.hub.pong)
	defer cancel()
	if s.conn.Ping(ctx) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.writing { // else that write has its own limit, and may have held up the ping
		s.close(silent)
	}
}
