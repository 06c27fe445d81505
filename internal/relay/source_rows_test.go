package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/relay"
	"herald/internal/roomtest"
)

// One trigger is enough, whichever of the functions it calls.
func TestWritesLifecycle(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	functions := postgrestest.List(t, s, `SELECT proname::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
		AND proname LIKE 'write\_%\_lifecycle'`)
	require.NotEmpty(t, functions)
	for _, function := range functions {
		require.False(t, roomtest.Must(relay.On(s).WritesLifecycle(t.Context()))(t))
		postgrestest.Exec(t, s, "CREATE TRIGGER lifecycle AFTER INSERT ON operator_action FOR EACH ROW EXECUTE FUNCTION "+function+"()")
		require.True(t, roomtest.Must(relay.On(s).WritesLifecycle(t.Context()))(t), function)
		postgrestest.Exec(t, s, "DROP TRIGGER lifecycle ON operator_action")
	}
}
