package dialects

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/relay"
)

func TestEveryDialectHasStatements(t *testing.T) {
	t.Parallel()

	require.ElementsMatch(t, relay.Dialects(), slices.Collect(maps.Keys(byName)))
}
