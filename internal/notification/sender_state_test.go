package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The figures name the harm of the channel that is closest to its limit, also among too few recipients for a
// pause.
func TestFiguresOfASender(t *testing.T) {
	t.Parallel()

	tests := []struct {
		state notification.SenderState
		want  string
		level notification.SenderLevel
	}{
		{notification.SenderState{Channel: notification.Email}, "0 complaints of 0 recipients", notification.SenderFine},
		{notification.SenderState{Channel: notification.Email, Recipients: 150, Bounces: 100},
			"100 permanent bounces of 150 recipients", notification.SenderFine},
		{notification.SenderState{Channel: notification.Email, Recipients: 150, Complaints: 4, Bounces: 100},
			"4 complaints of 150 recipients", notification.SenderFine},
		{notification.SenderState{Channel: notification.Email, Recipients: 1000, Complaints: 1, Bounces: 60},
			"60 permanent bounces of 1000 recipients", notification.SenderHalf},
		{notification.SenderState{Channel: notification.SMS}, "0 blocks by carriers of 0 recipients", notification.SenderFine},
		{notification.SenderState{Channel: notification.SMS, Recipients: 150, Blocks: 9}, "9 blocks by carriers of 150 recipients",
			notification.SenderFine},
		{notification.SenderState{Channel: notification.SMS, Recipients: 1000, Blocks: 30}, "30 blocks by carriers of 1000 recipients",
			notification.SenderQuarter},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want+" in seven days", tt.state.Figures())
		require.Equal(t, tt.level, tt.state.Level(), tt.want)
	}
}
