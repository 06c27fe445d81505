package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"

	"herald/internal/notification"
)

// inbound are buffers for what clients send. A socket has one only while a frame comes.
var inbound = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read reads what the client sends until the connection is closed. Its end is the socket's.
func (s *socket) read() {
	defer s.hub.release(s.who.RecipientKey, s)
	for {
		kind, r, err := s.conn.Reader(context.Background())
		if err == nil {
			err = s.readFrame(kind, r)
		}
		if err != nil {
			s.cut(whyUnreadable(err))
			break
		}
	}
	s.writers.Wait() // the client may be told why
	_ = s.raw.Close()
}

// readFrame reads one frame, or the fragments of one, and does what it says. What comes
// after the hub has decided to close the socket is thrown away, up to the client's own
// goodbye.
func (s *socket) readFrame(kind websocket.MessageType, r io.Reader) error {
	buffer := inbound.Get().(*bytes.Buffer)
	defer inbound.Put(buffer)
	buffer.Reset()
	if err := s.raw.SetReadDeadline(time.Now().Add(s.hub.times.frame)); err != nil {
		return err
	}
	size, err := io.Copy(buffer, io.LimitReader(r, maxInbound+1))
	if err != nil {
		return err
	}
	switch {
	case size > maxInbound:
		s.cut(tooLarge)
		_, err = io.Copy(io.Discard, r)
	case kind != websocket.MessageText || !s.obey(buffer.Bytes()):
		s.cut(violation)
	}
	if err != nil {
		return err
	}
	return s.raw.SetReadDeadline(time.Time{})
}

// obey does what a client's frame says. It returns false where that makes no sense.
func (s *socket) obey(body []byte) bool {
	var command struct {
		Type string `json:"type"`
		ID   *int64 `json:"id"`
	}
	if json.Unmarshal(body, &command) != nil || command.ID != nil && *command.ID <= 0 {
		return false
	}
	switch {
	case command.Type == "ack" && command.ID != nil:
		s.acknowledge(*command.ID)
		return true
	case command.Type == "after" && command.ID != nil:
		return s.ask(request{kind: after, id: *command.ID})
	case command.Type == "after":
		return s.ask(request{kind: unread})
	default:
		return false
	}
}

// acknowledge takes the client's word for what it was sent, and for nothing else.
func (s *socket) acknowledge(id int64) {
	s.mu.Lock()
	was := s.sent.has(id)
	s.mu.Unlock()
	if !was {
		s.hub.metrics.acknowledged(ignored, 1)
		return
	}
	s.hub.acks.add(notification.Acknowledgement{ID: id, RecipientKey: s.who.RecipientKey})
}

// whyUnreadable says why nothing more can be read.
func whyUnreadable(err error) ending {
	var network net.Error
	switch {
	case websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return gone
	case errors.As(err, &network) && network.Timeout():
		return slow
	case errors.As(err, &network):
		return gone
	default: // the library has found what no client may send
		return violation
	}
}
