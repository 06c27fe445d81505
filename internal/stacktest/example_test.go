package stacktest_test

import (
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/stacktest"
	"herald/tools/example"
)

// The demo can repeatedly create the tables and topics of the example's two services. The
// settings name the outboxes while the tables and topics exist.
func TestExample(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "postgres", "kafka")
	require.NotContains(t, stack.Settings(t), "OUTBOX_SOURCES")
	stack.Run(t, "example")
	stack.Run(t, "example")

	settings := stack.Settings(t)
	require.FileExists(t, settings["OUTBOX_SOURCES"])
	conn, err := pgx.Connect(t.Context(), settings["DATABASE_URL"])
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	for _, script := range example.ServiceScripts("0a1b2c3d") {
		_, err := conn.Exec(t.Context(), script)
		require.NoError(t, err)
	}
	for _, topic := range example.Topics() {
		read, err := exec.CommandContext(t.Context(), "kcat", "-b", settings["KAFKA_BROKERS"], "-C", "-t", topic, "-e").CombinedOutput()
		require.NoError(t, err, "%s", read)
	}

	require.NotContains(t, stack.Command(t, script, []string{"OUTBOX_SOURCES=yours.yaml"}, "env"), "OUTBOX_SOURCES")
	require.NotContains(t, stack.Command(t, script, []string{"DATABASE_URL=postgres://db.example.com/herald"}, "env"), "OUTBOX_SOURCES")
	stack.Run(t, "destroy", "kafka")
	require.NotContains(t, stack.Settings(t), "OUTBOX_SOURCES")
}
