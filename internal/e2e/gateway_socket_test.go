package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// open opens a socket, or returns the status of the refusal.
func (g *gateway) open(query string, header map[string]string, subprotocols ...string) (conn *websocket.Conn, status int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	options := &websocket.DialOptions{HTTPHeader: http.Header{}, Subprotocols: subprotocols}
	for name, value := range header {
		options.HTTPHeader.Set(name, value)
	}
	conn, answer, err := websocket.Dial(ctx, "ws://"+g.host()+"/ws"+query, options)
	require.NotNil(g.t, answer, "%v", err)
	if err != nil {
		return nil, answer.StatusCode
	}
	g.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, answer.StatusCode
}

// A client can open a socket with each kind of authentication.
func (g *gateway) opensSockets() {
	token, inactive := tokenOf(g.t, ada), tokenOf(g.t, gone)
	tests := []struct {
		name         string
		header       map[string]string
		query        string
		subprotocols []string
		status       int
	}{
		{name: "a header", header: bearer(token), status: 101},
		{name: "a header and the subprotocol", header: bearer(token), subprotocols: []string{"herald.v1"}, status: 101},
		{name: "a subprotocol", subprotocols: []string{"herald.v1", "bearer." + token}, status: 101},
		{name: "nothing", status: 401},
		{name: "a subprotocol without a token", subprotocols: []string{"herald.v1"}, status: 401},
		{name: "a forged token", subprotocols: []string{"herald.v1", "bearer." + token + "x"}, status: 401},
		{name: "a token in the address", query: "?token=" + token, status: 401},
		{name: "a token as a ticket", query: "?ticket=" + token, status: 401},
		{name: "somebody who is not active", header: bearer(inactive), status: 401},
	}
	for _, tt := range tests {
		conn, status := g.open(tt.query, tt.header, tt.subprotocols...)
		require.Equal(g.t, tt.status, status, tt.name)
		if conn != nil && tt.subprotocols != nil {
			require.Equal(g.t, "herald.v1", conn.Subprotocol(), tt.name)
		}
	}
	status, _ := g.request(http.MethodGet, "/ws", "", bearer(token))
	require.Equal(g.t, http.StatusUpgradeRequired, status)
	require.NotContains(g.t, g.output.String(), token)
}

// A ticket from one gateway opens one socket at another gateway, unless its recipient has left meanwhile.
func (s *system) usesEachTicketOnce(g, other *gateway) {
	ticket, late := g.ticket(ada), g.ticket(ada)
	_, status := other.open("?ticket="+ticket, nil, "herald.v1")
	require.Equal(s.t, http.StatusSwitchingProtocols, status)
	_, status = g.open("?ticket="+ticket, nil, "herald.v1")
	require.Equal(s.t, http.StatusUnauthorized, status)
	require.NotContains(s.t, g.output.String()+other.output.String(), ticket)

	s.exec(`UPDATE recipient SET active = false WHERE user_id = '1'`)
	_, status = other.open("?ticket="+late, nil)
	require.Equal(s.t, http.StatusUnauthorized, status, "the recipient left after getting the ticket")
	require.Zero(s.t, s.count(`SELECT count(*) FROM gateway_ticket`))
}

// ticket requests a ticket for a recipient.
func (g *gateway) ticket(who notification.RecipientKey) string {
	g.t.Helper()
	status, answer := g.request(http.MethodPost, "/api/ws-ticket", "", bearer(tokenOf(g.t, who)))
	require.Equal(g.t, http.StatusCreated, status, answer)
	var given struct{ Ticket string }
	require.NoError(g.t, json.Unmarshal([]byte(answer), &given))
	return given.Ticket
}

// A gateway stops while a socket is open and a request is in flight. It tells the socket's client
// to reconnect, and finishes the request.
func (s *system) stops(g *gateway) {
	socket, _ := g.open("", bearer(tokenOf(g.t, ada)))
	slow := g.dial("PUT /api/preferences HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + tokenOf(g.t, ada) +
		"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{")
	s.eventually(func() bool { return g.metric("herald_gateway_sockets") == 1 }, "the socket is not open")

	require.NoError(g.t, g.Command.Process.Signal(syscall.SIGTERM))

	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	for err := error(nil); ; {
		if _, _, err = socket.Read(ctx); err != nil {
			require.Equal(g.t, websocket.StatusServiceRestart, websocket.CloseStatus(err), "%v", err)
			break
		}
	}
	s.eventually(func() bool { return g.ready() == http.StatusServiceUnavailable }, "it is ready while it stops")
	_, err := slow.Write([]byte("}"))
	require.NoError(g.t, err)
	line, err := bufio.NewReader(slow).ReadString('\n')
	require.NoError(g.t, err, "the request is finished")
	require.NotContains(g.t, line, " 50")
	require.NoError(g.t, g.Wait())
}

// dial opens a connection to the public port and sends text.
func (g *gateway) dial(text string) net.Conn {
	g.t.Helper()
	conn := must(new(net.Dialer).DialContext(g.t.Context(), "tcp", g.host()))(g.t)
	g.t.Cleanup(func() { _ = conn.Close() })
	must(io.WriteString(conn, text))(g.t)
	return conn
}

// metric returns the value of a metric, or -1 without the metric.
func (g *gateway) metric(name string) float64 {
	g.t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(g.metrics())
	if found == nil {
		return -1
	}
	value := must(strconv.ParseFloat(found[1], 64))(g.t)
	return value
}

// openSlowly opens connections whose requests never end. The result waits until the gateway has
// closed all of them.
func (g *gateway) openSlowly() *sync.WaitGroup {
	signedIn := "Authorization: Bearer " + tokenOf(g.t, ada) + "\r\nContent-Type: application/json\r\n"
	closing := &sync.WaitGroup{}
	for _, tt := range []struct{ request, trickle string }{ // trickle is sent every second
		{},
		{"GET / HTTP/1.1\r\nHost: h\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: h\r\n", "X: y\r\n"},
		{"POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", ""},
		{"POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", "x"},
		{"PUT /api/preferences HTTP/1.1\r\nHost: h\r\n" + signedIn + "Content-Length: 100\r\n\r\n", " "},
		{"POST /api/ws-ticket HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
	} {
		conn := g.dial(tt.request)
		require.NoError(g.t, conn.SetDeadline(time.Now().Add(patience)))
		closed := make(chan struct{})
		closing.Go(func() {
			defer close(closed)
			_, err := io.Copy(io.Discard, conn)
			assert.NotErrorIs(g.t, err, os.ErrDeadlineExceeded, "the gateway keeps the connection of %q %q open", tt.request, tt.trickle)
		})
		closing.Go(func() {
			for trickle := time.Tick(time.Second); ; {
				select {
				case <-closed:
					return
				case <-trickle:
					_, _ = io.WriteString(conn, tt.trickle)
				}
			}
		})
	}
	return closing
}

// The gateway rejects headers that are too large.
func (g *gateway) rejectsLargeHeaders() {
	conn := g.dial("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil { // the connection may be reset before the answer
		require.Contains(g.t, line, "431")
	}
}

// 10,000 connections never send a whole request. The gateway serves other clients meanwhile, and
// closes all 10,000 in the end.
func (s *system) servesBesideHalfOpenConnections(g *gateway) {
	idle := g.metric("process_resident_memory_bytes")
	const connections = 10_000
	var closing sync.WaitGroup
	for i := range connections {
		conn := g.dial("GET / HTTP/1.1\r\nHost: h\r\nX-" + strconv.Itoa(i) + ": ")
		closing.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	}

	status, _ := g.request(http.MethodGet, "/", "", nil)
	held := g.metric("process_resident_memory_bytes") - idle
	s.t.Logf("with up to %d half-open connections: %.0f bytes each, %.0f files open", connections, held/connections,
		g.metric("process_open_fds"))
	require.Equal(s.t, http.StatusOK, status)
	require.Less(s.t, held, float64(512<<20))
	closing.Wait()
	s.eventually(func() bool { return g.metric("process_open_fds") < 200 }, "their files stay open")
}
