package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/sandbox"
)

// TestReceiptsOfTheSandbox sends messages through a worker, of which the sandbox says to a
// gateway what became of them: signed by code that shares nothing with the gateway's.
func TestReceiptsOfTheSandbox(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	var gatewayURL *url.URL
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(gatewayURL) }})
	t.Cleanup(front.Close)
	providers, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Local: true, Gateway: front.URL, Receipts: `{"delay":"10ms","twice":true,"shuffled":true}`})
	require.NoError(t, err)
	t.Cleanup(func() { _ = providers.Close() })
	faked := httptest.NewServer(providers)
	t.Cleanup(faked.Close)
	key := get(t, faked.URL+"/keys/sendgrid")
	s.env = append(s.env, "SENDGRID_BASE_URL="+faked.URL, "TWILIO_BASE_URL="+faked.URL, "PUBLIC_URL="+front.URL, "SENDGRID_WEBHOOK_PUBLIC_KEY="+key)
	s.prepareLoad()
	g := s.startGateway()
	gatewayURL = &url.URL{Scheme: "http", Host: g.host()}
	s.startWorker()
	s.starter("poller", "start")

	const status = `SELECT count(*) FROM notification WHERE event_id = $1 AND channel = $2 AND status = $3`
	s.writeEvents("arrives", 1)
	for _, channel := range []string{"EMAIL", "SMS"} {
		s.awaitCount(1, status, s.eventID("arrives", 0), channel, "DELIVERED")
	}
	s.exec(`UPDATE recipient SET email = 'Bounce@example.com', phone = '+12015550102' WHERE user_id = '1'`)
	s.writeEvents("bounces", 1)
	s.awaitCount(1, status, s.eventID("bounces", 0), "EMAIL", "FAILED")
	s.awaitCount(1, status, s.eventID("bounces", 0), "SMS", "DELIVERED")
	s.writeEvents("is-not-sent", 1)
	s.awaitSuccess(s.eventID("is-not-sent", 0))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification_decision WHERE event_id = $1 AND channels::text LIKE '%SUPPRESSED%'`, s.eventID("is-not-sent", 0)))
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND channel = 'EMAIL'`, s.eventID("is-not-sent", 0)))
	s.eventually(func() bool { return g.metric(`herald_receipts_total{channel="EMAIL",outcome="repeated"}`) > 0 }, "the repeats do not come")
	for _, cause := range []string{"unsigned", "forged", "stale", "no_key"} {
		require.Zero(t, g.metric(`herald_receipts_refused_total{cause="`+cause+`"}`), cause)
	}
	require.Zero(t, g.metric(`herald_receipts_total{channel="EMAIL",outcome="malformed"}`))
	require.Zero(t, g.metric(`herald_receipts_total{channel="SMS",outcome="malformed"}`))
}

// get returns the body of an answer.
func get(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return strings.TrimSpace(string(body))
}
