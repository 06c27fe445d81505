package e2e_test

import (
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

// TestGatewaysHaveOneSecret starts gateways with two secrets on a database that knows none.
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
}
