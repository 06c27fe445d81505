package activities

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// After a late single message, batches rest for a while. Operators can read the reason.
func TestBatchesRestAfterALateMessage(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var s singles
		s.note(late)
		require.Empty(t, s.resting(), "no message was late")
		s.note(late + time.Millisecond)
		s.note(late)
		require.Equal(t,
			"until "+time.Now().Add(restsFor).UTC().Format(time.TimeOnly)+": a single message waited "+(late+time.Millisecond).String(), s.resting())
		time.Sleep(restsFor)
		require.Empty(t, s.resting(), "the rest is over")
	})
}
