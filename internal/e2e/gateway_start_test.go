package e2e_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGatewayAwaitsItsDatabase starts a gateway whose database first refuses connections, and
// then has no tables.
func TestGatewayAwaitsItsDatabase(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	gate := newGate(t, s.servers.databaseURL)
	g := s.launchGateway("DATABASE_URL=" + gate.url)
	const waiting = `"level":"WARN","msg":"waiting for the database, or for its schema"`
	s.eventually(func() bool { return strings.Contains(g.output.String(), waiting) }, "the gateway does not say that its database is away")
	s.eventually(func() bool { return gate.cut.Load() >= 2 }, "the gateway does not try again")
	require.Equal(t, http.StatusServiceUnavailable, g.ready())

	gate.opened.Store(true)
	s.starter("migrate", "up")
	s.eventually(func() bool { return g.ready() == http.StatusOK }, "the gateway is not ready:\n%s", g.output)

	status, page := g.request(http.MethodGet, "/", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<html")
	require.Contains(t, g.output.String()[:200], `"msg":"gateway starts","version":`)
	require.NoError(t, g.stop())
	require.Contains(t, g.output.String(), "gateway stops")
}

// TestGatewaysHaveOneSecret starts gateways with two secrets on a database that knows none,
// then workers with the one that it does not know, and with none.
func TestGatewaysHaveOneSecret(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	secrets := []string{"HERALD_SECRET=one secret of an installation, 1", "HERALD_SECRET=one secret of an installation, 2"}
	running := []*gateway{s.launchGateway(secrets[0]), s.launchGateway(secrets[1])}
	ended := func(g *gateway) bool {
		select {
		case <-g.ended:
			return true
		default:
			return false
		}
	}
	s.eventually(func() bool { return ended(running[0]) || ended(running[1]) }, "both go on")
	winner, loser := 0, 1
	if ended(running[0]) {
		winner, loser = 1, 0
	}
	s.eventually(func() bool { return running[winner].ready() == http.StatusOK }, "the other one is not ready")
	require.Error(t, running[loser].err)
	require.Contains(t, running[loser].output.String(), "HERALD_SECRET is not the one that this database has known since")

	s.startGateway(secrets[winner])

	for wrong, says := range map[string]string{
		secrets[loser]:   "HERALD_SECRET is not the one that this database has known since",
		"HERALD_SECRET=": "HERALD_SECRET is not set, but this database has known one since",
	} {
		w := s.launch("worker", []string{"WORKER_HTTP_ADDR=127.0.0.1:0", "PUBLIC_URL=", wrong})
		<-w.ended
		require.Error(t, w.err)
		require.Contains(t, w.output.String(), says)
	}
}

// TestGatewayOfTheDemo starts a gateway as `make demo` does: whoever is on this machine may be
// anybody, and neither pages of others nor names that point here may.
func TestGatewayOfTheDemo(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	g := s.startGateway("GATEWAY_DEMO=true")
	choose := func(header map[string]string) (status int, answer string) {
		header["Content-Type"] = "application/json"
		return g.request(http.MethodPost, "/demo/token", `{"user_type":"ADMIN","user_id":"1"}`, header)
	}
	status, answer := choose(map[string]string{"Origin": "http://" + g.host()})
	require.Equal(t, http.StatusCreated, status, answer)
	var chosen struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(answer), &chosen))
	status, answer = g.request(http.MethodGet, "/api/notifications", "", bearer(chosen.Token))
	require.Equal(t, http.StatusOK, status, answer)

	status, _ = choose(map[string]string{"Origin": "https://evil.example.com"})
	require.Equal(t, http.StatusForbidden, status)
	rebound := bufio.NewReader(g.dial("GET /demo/people HTTP/1.1\r\nHost: evil.example.com\r\n\r\n"))
	line, err := rebound.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, " 403 ")

	other := s.startGateway()
	status, _ = other.request(http.MethodGet, "/demo/people", "", nil)
	require.Equal(t, http.StatusNotFound, status, "without GATEWAY_DEMO nobody chooses")

	open := s.launchGateway("GATEWAY_DEMO=true", "GATEWAY_HTTP_ADDR=:0")
	<-open.ended
	require.Error(t, open.err)
	require.Contains(t, open.output.String(), "GATEWAY_HTTP_ADDR must be a loopback address")
}
