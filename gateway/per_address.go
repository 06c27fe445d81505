package main

import (
	"net"
	"net/netip"
	"sync"
)

// perAddress is a listener that limits the connections of each public address, and closes the
// connections above the limit. A private address has no limit, because it may be a load balancer.
type perAddress struct {
	net.Listener
	most    int    // 0: no limit
	refused func() // called for each connection closed because of the limit

	mu   sync.Mutex
	open map[netip.Prefix]int
}

// Accept implements [net.Listener].
func (l *perAddress) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := network(conn.RemoteAddr())
		if l.most == 0 || !from.IsValid() {
			return conn, nil
		}
		if l.take(from) {
			return &countedConn{conn, sync.OnceFunc(func() { l.give(from) })}, nil
		}
		_ = conn.Close()
		l.refused()
	}
}

func (l *perAddress) take(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from] >= l.most {
		return false
	}
	if l.open == nil {
		l.open = map[netip.Prefix]int{}
	}
	l.open[from]++
	return true
}

func (l *perAddress) give(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

// network returns a client's IPv4 address, or the /64 network of its IPv6 address, because a client
// owns the whole network. It returns the zero value for a private address.
func network(from net.Addr) netip.Prefix {
	client, err := netip.ParseAddrPort(from.String())
	address := client.Addr().Unmap().WithZone("")
	if err != nil || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return netip.Prefix{}
	}
	prefix, _ := address.Prefix(min(address.BitLen(), 64)) // never fails: the length is at most BitLen
	return prefix
}

// countedConn is a connection that no longer counts after Close.
type countedConn struct {
	net.Conn
	give func()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.give()
	return c.Conn.Close()
}
