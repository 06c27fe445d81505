package dialects

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/outboxes"
)

func TestEveryDialectHasStatements(t *testing.T) {
	t.Parallel()

	require.ElementsMatch(t, outboxes.Dialects(), slices.Collect(maps.Keys(byName)))
}
