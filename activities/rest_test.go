package activities

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Batches rest after a single message that was late, and no longer; operators are told why.
func TestSinglesRest(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var s singles
		s.note(late)
		require.Empty(t, s.resting(), "none was late")
		s.note(late + time.Millisecond)
		s.note(late)
		require.Equal(t, "until "+time.Now().Add(restsFor).UTC().Format(time.TimeOnly)+": a single message waited 301ms", s.resting())
		time.Sleep(restsFor)
		require.Empty(t, s.resting(), "that was a while ago")
	})
}
