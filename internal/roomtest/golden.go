package roomtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var writeGolden = flag.Bool("write-golden", false, "write the golden files of testdata/")

// Golden compares a text with the file testdata/<name>.golden.
func Golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *writeGolden {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.Equal(t, string(Must(os.ReadFile(path))(t)), text)
}
