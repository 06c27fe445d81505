package stacktest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Link is a proxy to a server. A test can cut the link like a cable, while the server still
// serves other clients.
type Link struct {
	to       string // host:port
	listener net.Listener

	mu      sync.Mutex
	cut     bool
	refused int
	mute    string // after a client sends this text, it gets no more answers; empty: no limit
	open    map[net.Conn]bool
}

// LinkTo returns a link to the server of a URL, and the URL of the link.
func LinkTo(t testing.TB, server string) (*Link, string) {
	t.Helper()
	parsed, err := url.Parse(server)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Link{to: parsed.Host, listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
	})
	go l.accept()
	parsed.Host = listener.Addr().String()
	return l, parsed.String()
}

// Cut breaks all connections, and refuses new ones.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.open {
		_ = conn.Close()
	}
}

// Mend accepts connections again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// MuteAfter drops all answers to a client after it sends a text.
func (l *Link) MuteAfter(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = text
}

// Refused returns the number of connections that the cut link has refused.
func (l *Link) Refused() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// Open reports whether any connection is open.
func (l *Link) Open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

func (l *Link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		go l.serve(from)
	}
}

func (l *Link) serve(from net.Conn) {
	to, err := net.Dial("tcp", l.to)
	if err != nil || !l.admit(from, to) {
		_ = from.Close()
		return
	}
	var muted atomic.Bool
	go l.pass(from, to, func(sent []byte) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.mute != "" && bytes.Contains(sent, []byte(l.mute)) {
			muted.Store(true)
		}
		return true
	})
	go l.pass(to, from, func([]byte) bool { return !muted.Load() })
}

// admit records a connection's two ends, unless the link is cut.
func (l *Link) admit(from, to net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = to.Close()
		l.refused++
		return false
	}
	l.open[from], l.open[to] = true, true
	return true
}

// sieve is a writer that drops data unless passes allows it.
type sieve struct {
	net.Conn
	passes func([]byte) bool
}

func (s sieve) Write(text []byte) (int, error) {
	if !s.passes(text) {
		return len(text), nil
	}
	return s.Conn.Write(text)
}

func (l *Link) pass(from, to net.Conn, passes func([]byte) bool) {
	_, _ = io.Copy(sieve{to, passes}, from) // until one connection is closed
	_, _ = from.Close(), to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, from)
	delete(l.open, to)
}
