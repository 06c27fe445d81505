package stacktest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Link is a way to a server that can be cut as a cable can, while the server goes on for
// others.
type Link struct {
	to       string // host:port
	listener net.Listener

	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

// LinkTo returns a link to the server of a URL, and the URL that leads over it.
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

// Cut breaks all connections, and lets nobody connect.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.open {
		_ = conn.Close()
	}
}

// Mend lets everybody connect again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

func (l *Link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return // it is closed
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
	go l.pass(from, to)
	go l.pass(to, from)
}

// admit remembers a connection's two ends, unless the link is cut.
func (l *Link) admit(from, to net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = to.Close()
		return false
	}
	l.open[from], l.open[to] = true, true
	return true
}

func (l *Link) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until one of them is closed
	_, _ = from.Close(), to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, from)
	delete(l.open, to)
}
