package main

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// clients is a listener to which clients of some addresses connect.
type clients struct {
	net.Listener
	from []string
}

func (c *clients) Accept() (net.Conn, error) {
	if len(c.from) == 0 {
		return nil, net.ErrClosed
	}
	address := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from[0]))
	c.from = c.from[1:]
	conn, _ := net.Pipe()
	return &clientConn{conn, address}, nil
}

type clientConn struct {
	net.Conn
	from net.Addr
}

func (c *clientConn) RemoteAddr() net.Addr { return c.from }

// An address has its share of the connections, and gets them back as they are closed.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name          string
		first, second string // where the clients come from
		most          int
		refused       bool // of the third client, who comes from second
	}{
		{name: "one address", first: "192.0.2.1:1000", second: "192.0.2.1:2000", most: 2, refused: true},
		{name: "without a limit", first: "192.0.2.1:1000", second: "192.0.2.1:2000"},
		{name: "two addresses", first: "192.0.2.1:1000", second: "192.0.2.2:1000", most: 2},
		{name: "one network of IPv6", first: "[2001:db8::1]:1000", second: "[2001:db8::2]:1000", most: 2, refused: true},
		{name: "two networks of IPv6", first: "[2001:db8::1]:1000", second: "[2001:db8:0:1::1]:1000", most: 2},
		{name: "IPv4 as IPv6", first: "[::ffff:192.0.2.1]:1000", second: "192.0.2.1:1000", most: 2, refused: true},
		{name: "a balancer", first: "10.1.2.3:1000", second: "10.1.2.3:1000", most: 2},
		{name: "this machine", first: "[::1]:1000", second: "127.0.0.1:1000", most: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			refused := 0
			from := &clients{from: []string{tt.first, tt.first, tt.second}}
			listener := &perAddress{Listener: from, most: tt.most, refused: func() { refused++ }}
			conn, err := listener.Accept()
			require.NoError(t, err)
			_, err = listener.Accept()
			require.NoError(t, err)
			_, err = listener.Accept()
			if !tt.refused {
				require.NoError(t, err)
				require.Zero(t, refused)
				return
			}
			require.ErrorIs(t, err, net.ErrClosed, "the third was closed")
			require.Equal(t, 1, refused)

			require.NoError(t, conn.Close())
			require.NoError(t, conn.Close())
			from.from = []string{tt.second, tt.second}
			_, err = listener.Accept()
			require.NoError(t, err)
			_, err = listener.Accept()
			require.ErrorIs(t, err, net.ErrClosed, "a connection that was closed twice counts once")
		})
	}
}
