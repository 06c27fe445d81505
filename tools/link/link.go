// Package link is a proxy between a client and a server. A test can cut and slow down the link while the
// server still serves other clients.
package link

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Link is a proxy to one server.
type Link struct {
	to       string // host:port
	listener net.Listener

	mu      sync.Mutex
	cut     bool
	delay   time.Duration
	refused int
	mute    string // after a client sends this text, it gets no more answers; empty: no limit
	open    map[net.Conn]bool
}

// To returns a link to a server at host:port.
func To(server string) (*Link, error) { return At("127.0.0.1:0", server) }

// At returns a link that listens at an address.
func At(address, server string) (*Link, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &Link{to: server, listener: listener, open: map[net.Conn]bool{}}
	go l.accept()
	return l, nil
}

// Address returns the host:port at which the link listens.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Close cuts the link for good.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.Cut()
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

// Slow delays all data in each direction.
func (l *Link) Slow(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

// Mend accepts connections again, and ends the delay.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay = false, 0
}

func (l *Link) delayed() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay
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
	delayed := func(text []byte) bool {
		time.Sleep(l.delayed())
		return passes(text)
	}
	_, _ = io.Copy(sieve{to, delayed}, from) // until one connection is closed
	_, _ = from.Close(), to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, from)
	delete(l.open, to)
}
