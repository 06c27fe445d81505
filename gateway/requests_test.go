package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// The log has a line for each request, with the id from the answer, but without anything from the
// client. The test is not parallel, because it replaces the process's logger.
func TestLogOfRequests(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	routes := http.NewServeMux()
	routes.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "fails") {
			panic("a mistake")
		}
		w.WriteHeader(http.StatusTeapot)
	})
	ask := func(method, target, id string) (*httptest.ResponseRecorder, map[string]any) {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), method, own+target, strings.NewReader("secret"))
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set(requestID, id)
		answer := httptest.NewRecorder()
		logged(routes).ServeHTTP(answer, r)
		require.NotContains(t, log.String(), "secret")
		var line map[string]any
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line))
		require.Equal(t, answer.Header().Get(requestID), line["id"])
		require.Equal(t, "/api/", line["route"])
		require.InDelta(t, answer.Code, line["status"], 0)
		return answer, line
	}

	answer, line := ask(http.MethodGet, "/api/secret?ticket=secret", "from-the-proxy.1")
	require.Equal(t, "from-the-proxy.1", line["id"])
	require.Equal(t, "GET", line["method"])
	require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))

	_, line = ask("SECRET", "/api/x", "secret secret")
	require.Equal(t, "other", line["method"])
	require.NotEmpty(t, line["id"])

	answer, _ = ask(http.MethodGet, "/api/fails", "")
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Equal(t, "application/problem+json", answer.Header().Get("Content-Type"))
	require.NotContains(t, answer.Body.String(), "mistake")
}

// clients is a listener that accepts one client from each address in from.
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

// The number of open connections per address is limited.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name          string
		first, second string // addresses of the clients
		most          int
		refused       bool // the third client, with the address second, is refused
	}{
		{name: "one address", first: "192.0.2.1:1000", second: "192.0.2.1:2000", most: 2, refused: true},
		{name: "without a limit", first: "192.0.2.1:1000", second: "192.0.2.1:2000"},
		{name: "two addresses", first: "192.0.2.1:1000", second: "192.0.2.2:1000", most: 2},
		{name: "one IPv6 network", first: "[2001:db8::1]:1000", second: "[2001:db8::2]:1000", most: 2, refused: true},
		{name: "two IPv6 networks", first: "[2001:db8::1]:1000", second: "[2001:db8:0:1::1]:1000", most: 2},
		{name: "IPv4 as IPv6", first: "[::ffff:192.0.2.1]:1000", second: "192.0.2.1:1000", most: 2, refused: true},
		{name: "a load balancer", first: "10.1.2.3:1000", second: "10.1.2.3:1000", most: 2},
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
			require.ErrorIs(t, err, net.ErrClosed, "the third connection was closed")
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

// linkOver returns recipient 10's link to unsubscribe from reservations over a channel.
func linkOver(channel notification.Channel) string {
	return links.Unsubscribe(channel)(notification.Message{UserType: notification.RestaurantUser, UserID: "10", Category: "reservations"})
}

const staffAddress = "giulia@example.com"

var order7 = notification.Entity{Type: "ORDER", ID: "7"}

// staff returns user 10 with an e-mail address.
func staff(address string) notification.Recipient {
	return notification.Recipient{UserType: notification.RestaurantUser, UserID: "10", Email: address}
}

// muteMost lets a user mute as many entities as possible.
func (c *contracted) muteMost(userID string) {
	c.t.Helper()
	postgrestest.Exec(c.t, c.store, `
		INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id)
		SELECT 'RESTAURANT_USER', $1, 'RESTAURANT', n::text
		FROM   generate_series(1, $2::int) n`, userID, notification.MaxFollows)
}

// linkCases returns requests with links of messages.
func linkCases() []contractCase {
	form := "application/x-www-form-urlencoded"
	optional, mandatory := linkOver(notification.Push), linkOver(notification.Email)
	busy := notification.Recipient{UserType: notification.RestaurantUser, UserID: "11", Email: "marco@example.com"} // has muted the most
	preferences := links.Preferences(notification.Email, staff(staffAddress))
	former := links.Preferences(notification.Email, staff("old@example.com"))
	mute, muteMore := links.Mute(notification.Email, staff(staffAddress), order7), links.Mute(notification.Email, busy, order7)
	return []contractCase{
		{"ask to unsubscribe", request{method: "GET", path: optional}, 200},
		{"ask to unsubscribe from a mandatory category", request{method: "GET", path: mandatory}, 200},
		{"ask with a broken link", request{method: "GET", path: optional + "x"}, 400},
		{"unsubscribe", request{method: "POST", path: optional, contentType: form, body: "List-Unsubscribe=One-Click"}, 200},
		{"unsubscribe from a mandatory category",
			request{method: "POST", path: mandatory, contentType: form, body: "List-Unsubscribe=One-Click"}, 422},
		{"unsubscribe with a broken link", request{method: "POST", path: "/unsubscribe?token=", contentType: form}, 400},
		{"preferences by a link", request{method: "GET", path: preferences}, 200},
		{"preferences by a link, broken", request{method: "GET", path: preferences + "x"}, 400},
		{"preferences by a link, former address", request{method: "GET", path: former}, 410},
		{"choose", request{method: "POST", path: preferences, contentType: form, body: "shown=PUSH/reservations"}, 200},
		{"choose, mandatory", request{method: "POST", path: preferences, contentType: form, body: "shown=EMAIL/reservations"}, 422},
		{"choose, broken link", request{method: "POST", path: preferences + "x", contentType: form}, 400},
		{"choose, former address", request{method: "POST", path: former, contentType: form}, 410},
		{"ask to mute", request{method: "GET", path: mute}, 200},
		{"ask to mute, broken link", request{method: "GET", path: mute + "x"}, 400},
		{"ask to mute, former address", request{method: "GET", path: links.Mute(notification.Email, staff("old@example.com"), order7)}, 410},
		{"mute by a link", request{method: "POST", path: mute, contentType: form, body: "mute=yes"}, 200},
		{"mute by a link, too many", request{method: "POST", path: muteMore, contentType: form, body: "mute=yes"}, 422},
		{"mute by a link, broken", request{method: "POST", path: mute + "x", contentType: form}, 400},
		{"mute by a link, former address", request{method: "POST", path: links.Mute(notification.Email, staff("old@example.com"), order7),
			contentType: form}, 410},
	}
}

// A link works from any origin: webmail has another origin, and browsers send "null" with a page's form,
// because of the policy no-referrer. Other paths refuse other origins.
func TestLinksFromAnyOrigin(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	for _, origin := range []string{"null", "https://webmail.example.com", g.URL} {
		for _, method := range []string{"GET", "POST"} {
			for _, link := range []string{
				linkOver(notification.Push), links.Preferences(notification.Email, staff(staffAddress)),
				links.Mute(notification.Email, staff(staffAddress), order7),
			} {
				_, answer, body := g.do(t, request{method: method, path: link, origin: origin})
				require.Equal(t, 200, answer.StatusCode, "%s", body)
			}
		}
	}
	_, answer, _ := g.do(t, request{method: "GET", path: "/api/preferences", token: token(t, "10"), origin: "null"})
	require.Equal(t, 403, answer.StatusCode)
}
