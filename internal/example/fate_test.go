package example_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/example"
	"herald/internal/notification"
)

func TestFate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		text string
		want example.Fate
	}{
		{"SENT", example.Fate{Decision: notification.DecisionSelected, Status: notification.Sent}},
		{"SENT in digest", example.Fate{Decision: notification.DecisionSelected, Status: notification.Sent, Digest: true}},
		{"PENDING", example.Fate{Decision: notification.DecisionSelected, Status: notification.Pending}},
		{"CANCELLED quiet hours", example.Fate{Decision: notification.DecisionSelected, Status: notification.Cancelled, Error: "quiet hours"}},
		{"FAILED twilio refused: 400", example.Fate{Decision: notification.DecisionSelected, Status: notification.Failed, Error: "twilio refused: 400"}},
		{"QUIET_HOURS", example.Fate{Decision: notification.DecisionQuietHours}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()

			var got example.Fate
			require.NoError(t, got.UnmarshalText([]byte(tt.text)))
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.text, got.String())
		})
	}
}

func TestFateRefused(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"", "SELECTED", "sent", "QUIET_HOURS because", "DELIVERED"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			var fate example.Fate
			require.Error(t, fate.UnmarshalText([]byte(text)))
		})
	}
}
