package activities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What concerns many rests while single messages are late, and no longer.
func TestSinglesPass(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var s singles
		rested := func(ctx context.Context) time.Duration {
			begun := time.Now()
			s.letPass(ctx)
			return time.Since(begun)
		}

		s.note(late)
		require.Zero(t, rested(t.Context()), "none was late")
		s.note(late + 1)
		s.note(late)
		require.Equal(t, rest, rested(t.Context()))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		require.Zero(t, rested(cancelled))
		time.Sleep(restsFor)
		require.Zero(t, rested(t.Context()), "that was a while ago")
	})
}
