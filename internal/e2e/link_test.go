package e2e_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// link is a way to a server that can be cut, while the server goes on for others.
type link struct {
	to       string // host:port
	listener net.Listener

	mu   sync.Mutex
	cut  bool
	open map[net.Conn]bool
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{to: to, listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = listener.Close()
		l.set(true)
	})
	go l.serve()
	return l
}

// linkTo is a link to the server of a URL, and the URL that leads over it.
func linkTo(t *testing.T, address string) (*link, string) {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	l := newLink(t, parsed.Host)
	parsed.Host = l.listener.Addr().String()
	return l, parsed.String()
}

// set cuts the link, which ends all connections and every new one at once, or mends it.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for conn := range l.open {
		if cut {
			_ = conn.Close()
		}
	}
}

func (l *link) serve() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return // it is closed
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil || !l.admit(from, to) {
			_ = from.Close()
			continue
		}
		go l.pass(from, to)
		go l.pass(to, from)
	}
}

// admit remembers a connection's two ends, unless the link is cut.
func (l *link) admit(from, to net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = to.Close()
		return false
	}
	l.open[from], l.open[to] = true, true
	return true
}

func (l *link) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until one of them is closed
	_, _ = from.Close(), to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, from)
	delete(l.open, to)
}
