package rabbitmq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lost connection may have been dead for a while, or for as long as the process was suspended.
func TestIntact(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	tests := []struct {
		name  string
		ticks []int
		lost  int
		want  int
	}{
		{name: "at once", lost: 1, want: -29},
		{name: "after a while", ticks: []int{15, 30, 45, 60}, lost: 61, want: 31},
		{name: "suspended for an hour, with a look before the loss is noticed", ticks: []int{15, 30, 3630}, lost: 3631, want: 30},
		{name: "suspended for an hour, without a look", ticks: []int{15, 30}, lost: 3630, want: 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			c := clock{start, start}
			for _, tick := range tt.ticks {
				c.tick(at(tick))
			}
			require.Equal(t, at(tt.want), c.intact(at(tt.lost)))
		})
	}
}
