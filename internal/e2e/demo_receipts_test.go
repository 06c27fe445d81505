package e2e_test

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/demo"
	"herald/tools/sandbox"
)

// The demo runs twice, with a sandbox that sends receipts to a gateway. The second run has the
// same result as the first, although the first run suppressed an address.
func TestDemoTellsWhoHasWhat(t *testing.T) {
	t.Parallel()

	s, gateway := newSystemWithReceipts(t, `{"delay":"50ms","twice":true,"shuffled":true,"rate":0.3}`)
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.startGateway("GATEWAY_HTTP_ADDR=" + gateway)
	s.starter("poller", "start")
	for range 2 {
		_, printed, found := strings.Cut(s.program("demo", "--sandbox-url", s.sandbox.URL, "-o", "json"), "\n{\n") // notes precede the JSON
		require.True(t, found)
		var result demo.Result
		require.NoError(t, json.Unmarshal([]byte("{"+printed), &result))
		require.Empty(t, result.Deviations)
		has := map[string]demo.Possession{}
		decided := map[string]notification.Decision{}
		for _, r := range result.Results {
			key := r.Event + " " + string(r.Channel)
			has[key], decided[key] = r.Has, r.Decision
		}
		require.Equal(t, demo.Has, has["confirmed EMAIL"], "a receipt says so")
		require.Equal(t, demo.HasNot, has["bounced EMAIL"])
		require.Equal(t, notification.DecisionSuppressed, decided["bounced-before EMAIL"])
		require.Equal(t, demo.HasRead, has["offered-read PUSH"])
		require.NotContains(t, has, "offered-read SMS", "it was read")
		require.Equal(t, demo.HasNot, has["offered-escalated SMS"])
		require.Equal(t, demo.Has, has["offered-escalated EMAIL"])
	}
}

// newSystemWithReceipts returns an installation whose sandbox sends receipts. The test must start
// a gateway at the returned address.
func newSystemWithReceipts(t *testing.T, receipts string) (s *system, gateway string) {
	t.Helper()
	s = newSystem(t)
	free := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	gateway = free.Addr().String()
	require.NoError(t, free.Close())
	providers := must(sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true, Gateway: "http://" + gateway, Receipts: receipts}))(t)
	s.sandbox = httptest.NewServer(providers)
	t.Cleanup(func() {
		s.sandbox.CloseClientConnections()
		s.sandbox.Close()
		_ = providers.Close()
	})
	s.env = append(s.environment(), "PUBLIC_URL=http://"+gateway, "SENDGRID_WEBHOOK_PUBLIC_KEY="+providers.PublicKey())
	return s, gateway
}
