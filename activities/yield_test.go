package activities

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// After a late single message, batches yield for a while. Operators can read the reason.
func TestBatchesYieldAfterALateMessage(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var s singles
		s.note(late)
		require.Empty(t, s.yieldReason(), "no message was late")
		s.note(late + time.Millisecond)
		s.note(late)
		require.Equal(t,
			"until "+time.Now().Add(yieldsFor).UTC().Format(time.TimeOnly)+": a single message waited "+(late+time.Millisecond).String(), s.yieldReason())
		time.Sleep(yieldsFor)
		require.Empty(t, s.yieldReason(), "the time is over")
	})
}
