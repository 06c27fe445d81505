package inbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentHasTheExample compares docs/inbox.md with the code that signs the tokens of
// these tests.
func TestDocumentHasTheExample(t *testing.T) {
	t.Parallel()

	document, err := os.ReadFile("../../docs/inbox.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(source), "// inboxToken")
	require.Contains(t, string(document), "```go\n// inboxToken"+example+"```")
}
