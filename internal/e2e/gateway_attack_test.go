package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dial opens a connection to the public port and sends text.
func (g *gateway) dial(text string) net.Conn {
	g.t.Helper()
	conn, err := new(net.Dialer).DialContext(g.t.Context(), "tcp", g.host())
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(g.t, err)
	return conn
}

// metric reads one figure; -1 if there is none.
func (g *gateway) metric(name string) float64 {
	g.t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(g.metrics())
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(g.t, err)
	return value
}

// TestSlowClients sends requests that never end: each connection is closed in time.
func TestSlowClients(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	g := s.startGateway()
	signedIn := "Authorization: Bearer " + tokenOf(t, ada) + "\r\nContent-Type: application/json\r\n"
	const header, body = 10 * time.Second, 30 * time.Second
	tests := []struct {
		name, request string
		trickle       string // sent every second
		bound         time.Duration
	}{
		{name: "nothing", bound: header},
		{name: "a header that stops", request: "GET / HTTP/1.1\r\nHost: h\r\n", bound: header},
		{name: "a header that trickles", request: "GET / HTTP/1.1\r\nHost: h\r\n", trickle: "X: y\r\n", bound: header},
		{name: "a body that stops", request: "POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", bound: body},
		{name: "a body that trickles", request: "POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", trickle: "x", bound: body},
		{name: "a body that trickles, of somebody who is signed in", request: "PUT /api/preferences HTTP/1.1\r\nHost: h\r\n" + signedIn + "Content-Length: 100\r\n\r\n", trickle: " ", bound: body},
		{name: "chunks that trickle", request: "POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", trickle: "1\r\nx\r\n", bound: body},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			begun := time.Now()
			conn := g.dial(tt.request)
			closed := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				close(closed)
			}()
			trickle := time.NewTicker(time.Second)
			defer trickle.Stop()
			for over := false; !over; {
				select {
				case <-closed:
					over = true
				case <-trickle.C:
					_, _ = io.WriteString(conn, tt.trickle)
				case <-time.After(patience):
					require.Fail(t, "the connection stays open")
				}
			}
			require.Less(t, time.Since(begun), tt.bound+20*time.Second, "with what a busy machine needs")
		})
	}
}

// TestLargeRequests sends more than is taken.
func TestLargeRequests(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	g := s.startGateway()
	header := bearer(tokenOf(t, ada))
	header["Content-Type"] = "application/json"
	status, answer := g.request(http.MethodPut, "/api/preferences", `{"timezone":"`+strings.Repeat("x", 64<<10)+`"}`, header)
	require.Equal(t, http.StatusRequestEntityTooLarge, status, answer)
	require.Contains(t, answer, `"title":"Request Entity Too Large"`)

	conn := g.dial("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil { // a reset may be faster than the answer
		require.Contains(t, line, "431")
	}
}

// TestHalfOpenConnections holds 10,000 connections that never send a whole request. Others
// are served meanwhile, and in the end all of them are closed.
func TestHalfOpenConnections(t *testing.T) {
	s := newSystem(t)
	g := s.startGateway()
	idle := g.metric("process_resident_memory_bytes")
	const connections = 10_000
	var closing sync.WaitGroup
	for i := range connections {
		conn := g.dial("GET / HTTP/1.1\r\nHost: h\r\nX-" + strconv.Itoa(i) + ": ")
		closing.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	}

	begun := time.Now()
	status, _ := g.request(http.MethodGet, "/", "", nil)
	took := time.Since(begun)
	held := g.metric("process_resident_memory_bytes") - idle
	t.Logf("with up to %d half-open connections: a page in %s, %.0f bytes each, %.0f files open", connections, took, held/connections, g.metric("process_open_fds"))

	require.Equal(t, http.StatusOK, status)
	require.Less(t, took, 5*time.Second)
	require.Less(t, held, float64(512<<20))
	closing.Wait()
	s.eventually(func() bool { return g.metric("process_open_fds") < 200 }, "their files stay open")
}
