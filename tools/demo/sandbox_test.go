package demo

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/report"
	"herald/tools/example"
	"herald/tools/sandbox"
)

// A scene changes the sandbox's settings, and mend restores them.
func TestDisturb(t *testing.T) {
	t.Parallel()

	server, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Gateway: "http://127.0.0.1:1", Receipts: `{"delay":"1s","outcomes":{"ada@example.com":"open"}}`})
	require.NoError(t, err)
	listening := httptest.NewServer(server)
	t.Cleanup(func() {
		listening.Close()
		require.NoError(t, server.Close())
	})
	s := sandbox.Client{URL: listening.URL}
	before, err := s.Receipts(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, before.Gateway)

	scene := example.Scene{
		Outcomes: map[string]string{"tom@example.com": "bounce"},
		Faults:   map[notification.Channel]json.RawMessage{notification.Push: json.RawMessage(`{"status":400}`)},
	}
	require.NoError(t, disturb(t.Context(), s, before.Receipts, scene))
	during, err := s.Receipts(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"ada@example.com": "open", "tom@example.com": "bounce"}, during.Outcomes)
	require.Equal(t, before.Delay, during.Delay)

	require.NoError(t, mend(t.Context(), s, before.Receipts, scene))
	after, err := s.Receipts(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
	scene.Outcomes["tom@example.com"] = "nonsense"
	require.ErrorContains(t, disturb(t.Context(), s, before.Receipts, scene), "400 Bad Request")
}

// With receipts, an event is not settled before its receipts arrive.
func TestAnswered(t *testing.T) {
	t.Parallel()

	for want, is := range map[bool]notification.Status{true: notification.Delivered, false: notification.Sent} {
		detail := told(notification.DecisionSelected, status(is, "", 0))
		require.Equal(t, want, (&Demo{Receipts: true}).answered(detail))
		require.True(t, (&Demo{}).answered(detail))
	}
	slack := told(notification.DecisionSelected, nil)
	slack.Recipients[0].Deliveries[notification.Slack] = report.RecipientDelivery{Status: notification.Sent}
	require.True(t, (&Demo{Receipts: true}).answered(slack), "Slack says nothing")
}
