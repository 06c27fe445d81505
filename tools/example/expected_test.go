package example_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/example"
)

func TestExpectedResult(t *testing.T) {
	t.Parallel()

	const selected = notification.DecisionSelected
	for text, want := range map[string]example.ExpectedResult{
		"SENT":                       {Decision: selected, Status: notification.Sent},
		"SENT in digest":             {Decision: selected, Status: notification.Sent, Digest: true},
		"PENDING":                    {Decision: selected, Status: notification.Pending},
		"CANCELLED quiet hours":      {Decision: selected, Status: notification.Cancelled, Error: "quiet hours"},
		"FAILED twilio refused: 400": {Decision: selected, Status: notification.Failed, Error: "twilio refused: 400"},
		"QUIET_HOURS":                {Decision: notification.DecisionQuietHours},
	} {
		var got example.ExpectedResult
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "SELECTED", "sent", "QUIET_HOURS because", "DELIVERED"} {
		require.Error(t, new(example.ExpectedResult).UnmarshalText([]byte(text)), text)
	}
}
