package console

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := (&Output{Err: &out}).Progress(func() string { return "half of it" })
		<-time.After(2*progressInterval + 1)
		stop()
		require.Equal(t, "half of it\nhalf of it\n", out.String())
	})
}
