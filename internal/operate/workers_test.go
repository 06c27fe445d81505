package operate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/launch"
)

func TestStateOf(t *testing.T) {
	t.Parallel()

	all := launch.Generations{Current: 5, Ramping: 6, Percent: 10}
	tests := []struct {
		generation int
		open       int64
		want       GenerationState
	}{
		{7, 0, Waiting}, {7, 1, Draining}, {6, 0, Ramping}, {6, 1, Ramping}, {5, 0, Current}, {4, 1, Draining}, {4, 0, Drained}, {3, 0, Drained},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, stateOf(tt.generation, tt.open, all), "generation %d with %d open workflows", tt.generation, tt.open)
	}
}
