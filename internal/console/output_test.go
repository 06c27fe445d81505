package console

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
)

// JSON holds the value as it is, and nothing that a terminal would obey.
func TestJSONIsPrintable(t *testing.T) {
	t.Parallel()

	values := map[string]string{"key\u009b": "\u009b31mred\u0085\x7f \u202egpj.exe\u202c \u200f\u061c\u2066x\u2069 \x1b[31m città 東京 👋"}
	var out bytes.Buffer
	require.NoError(t, (&Output{Format: JSON, Out: &out}).Print(values, nil))
	for _, r := range out.String() {
		require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)), "%q", r)
	}
	require.Contains(t, out.String(), "città 東京 👋")
	var read map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, values, read)
}

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
