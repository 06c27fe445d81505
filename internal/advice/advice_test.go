package advice

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// An operator can paste a command with any event id.
func TestQuote(t *testing.T) {
	t.Parallel()

	for id, want := range map[string]string{
		"evt-1-staff10-EMAIL": "evt-1-staff10-EMAIL", "a:b/c@d=e,f+1%.": "a:b/c@d=e,f+1%.",
		"a b": "'a b'", "it's": `'it'\''s'`, `"$HOME"; ls`: `'"$HOME"; ls'`, "": "''",
	} {
		require.Equal(t, want, Quote(id))
		said, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+Quote(id)).Output()
		require.NoError(t, err)
		require.Equal(t, id, string(said))
	}
}
