package template

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A busy machine is not held against a template of few steps; a limit there is
// all the same.
func TestLimitedByTime(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		began  time.Duration // ago
		writes int
		want   error
	}{
		{"in time", 0, 100_000, nil},
		{"late, after few steps", 2 * maxTime, 1, nil},
		{"late, after many steps", 2 * maxTime, patient + 1, errTooSlow},
		{"very late, after few steps", 11 * maxTime, 1, errTooSlow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			out := &limited{start: time.Now().Add(-tt.began), writes: tt.writes - 1}
			_, err := out.Write([]byte("x"))
			require.ErrorIs(t, err, tt.want)
		})
	}
}
