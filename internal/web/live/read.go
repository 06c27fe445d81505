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

// inbound holds buffers for clients' frames. A socket uses a buffer only while it reads a frame.
var inbound = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read reads the client's frames until the connection closes. Then the socket is finished.
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
	s.writers.Wait() // the writer may still send the cause
	_ = s.raw.Close()
}

// readFrame reads one message, whole or in fragments, and executes it. If the message is wrong, it
// cuts the socket off, but discards the rest so that the close handshake can follow.
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

// obey executes a client's command. It returns false if the command is invalid.
func (s *socket) obey(body []byte) bool {
	var command struct {
		Type string                `json:"type"`
		ID   *notification.JSONInt `json:"id"`
	}
	if json.Unmarshal(body, &command) != nil || command.ID != nil && *command.ID <= 0 {
		return false
	}
	switch {
	case command.Type == "ack" && command.ID != nil:
		s.acknowledge(int64(*command.ID))
		return true
	case command.Type == "after" && command.ID != nil:
		return s.ask(request{kind: after, id: int64(*command.ID)})
	case command.Type == "after":
		return s.ask(request{kind: unread})
	default:
		return false
	}
}

// acknowledge accepts an acknowledgement only of a notification that this socket was sent.
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

// whyUnreadable returns the ending after a failed read.
func whyUnreadable(err error) ending {
	var network net.Error
	switch {
	case websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return gone
	case errors.As(err, &network) && network.Timeout():
		return slow
	case errors.As(err, &network):
		return gone
	default: // the library found a protocol violation
		return violation
	}
}
