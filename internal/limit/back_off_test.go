package limit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/limit"
)

// Each wait is about twice as long as the last one, and none is longer than 15 s and a fifth.
func TestBackOff(t *testing.T) {
	t.Parallel()

	var b limit.BackOff
	for range 3 {
		want := 200 * time.Millisecond
		for range 20 {
			require.InDelta(t, want, b.Failed(), float64(want)/5)
			want = min(2*want, 15*time.Second)
		}
		b.Worked()
	}
}
