package live

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"herald/internal/web/problem"
	"herald/internal/web/signin"
)

// Serve opens a socket for who. It returns when the socket is open or refused. The caller must
// have checked the request's origin.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, who signin.Identity) {
	if err := h.reserve(who.RecipientKey); err != nil {
		h.refuse(w, err)
		return
	}
	lean := &leanWriter{ResponseWriter: w}
	conn, err := websocket.Accept(lean, r, &websocket.AcceptOptions{
		Subprotocols:       []string{signin.Subprotocol},
		InsecureSkipVerify: true, // the caller has checked the origin
	})
	if err != nil { // Accept has answered the request
		h.release(who.RecipientKey, nil)
		h.metrics.refused(notSocket)
		return
	}
	conn.SetReadLimit(-1) // readFrame has a limit, and sends the cause before closing
	now := time.Now()
	s := &socket{hub: h, who: who, conn: conn, raw: lean.conn, opened: now, pingAt: now.Add(rand.N(h.ping)), catching: catching{complete: now}}
	h.add(s)
	go s.read()
}

func (h *Hub) refuse(w http.ResponseWriter, err error) {
	status, cause := http.StatusServiceUnavailable, full
	switch {
	case errors.Is(err, errTooMany):
		status, cause = http.StatusTooManyRequests, tooMany
	case errors.Is(err, errDraining):
		cause = draining
	}
	h.metrics.refused(cause)
	w.Header().Set("Retry-After", retrySeconds)
	problem.Write(w, status, err.Error())
}

// leanWriter gives a socket smaller buffers than the HTTP server's 8 KiB, to save memory.
type leanWriter struct {
	http.ResponseWriter
	conn net.Conn
}

const (
	readBuffer  = 512
	writeBuffer = 1 << 10
)

// Hijack implements [http.Hijacker].
func (l *leanWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	l.conn = conn
	reader := buffers.Reader
	if reader.Buffered() == 0 { // else the buffer holds data from the client
		reader = bufio.NewReaderSize(conn, readBuffer)
	}
	return conn, bufio.NewReadWriter(reader, bufio.NewWriterSize(conn, writeBuffer)), nil
}
