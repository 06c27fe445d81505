package seed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/rules/ruletest"
	"herald/starter/seed"
)

// Every event type of the example has tests, and they pass.
func TestRules(t *testing.T) {
	t.Parallel()

	folder, err := seed.Rules()
	require.NoError(t, err)
	report, err := ruletest.Run(t.Context(), ruletest.Request{DB: postgrestest.New(t), Folder: folder})
	require.NoError(t, err)
	for _, test := range report.Tests {
		require.Empty(t, test.Lines(), "%s/%s", test.EventType, test.Name)
	}
	for _, unreached := range report.Unreached {
		require.NotContains(t, unreached.What, "has no tests")
	}
}
