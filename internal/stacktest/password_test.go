package stacktest_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/stacktest"
)

// The local Postgres requires its password, which only the owner of the folder can read.
// A server without a password gets one at its next start and keeps its data.
func TestPostgresRequiresItsPassword(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "postgres")
	first := stack.Settings(t)["DATABASE_URL"]
	require.NoError(t, query(t, first, "CREATE TABLE kept (n int)"))
	require.ErrorContains(t, query(t, withoutPassword(t, first), "SELECT 1"), "password")
	file := filepath.Join(stack.Dev, "run", "postgres.password")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	// A start changes nothing.
	stack.Run(t, "restart", "postgres")
	require.Equal(t, first, stack.Settings(t)["DATABASE_URL"])
	require.NoError(t, query(t, first, "SELECT n FROM kept"))

	// After an upgrade the folder has no password yet. The shell still has the old address, which
	// counts as our server.
	require.NoError(t, os.Remove(file))
	old := withoutPassword(t, first)
	require.Equal(t, old, stack.Settings(t)["DATABASE_URL"])
	stack.Command(t, "../../tools/stack.sh", []string{"DATABASE_URL=" + old}, "restart", "postgres")
	second := stack.Settings(t)["DATABASE_URL"]
	require.NotEqual(t, first, second)
	require.NoError(t, query(t, second, "SELECT n FROM kept"))
	require.Error(t, query(t, first, "SELECT 1"))
}

func query(t *testing.T, address, sql string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

func withoutPassword(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	parsed.User = url.User(parsed.User.Username())
	return parsed.String()
}

// The local RabbitMQ refuses the well-known password. A node without a separate password
// gets one at its next start and keeps its data.
func TestRabbitMQRequiresItsPassword(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "rabbitmq")
	first := stack.Settings(t)["RABBITMQ_URL"]
	require.NoError(t, dial(t, first, "kept"))
	require.Error(t, dial(t, known(first), ""))
	file := filepath.Join(stack.Dev, "run", "rabbitmq.password")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	password := strings.TrimPrefix(strings.Split(first, "@")[0], "amqp://guest:")
	require.Contains(t, stack.Settings(t)["RABBITMQ_MANAGEMENT_URL"], "http://guest:"+password+"@")

	// The file was lost.
	require.NoError(t, os.Remove(file))
	old := stack.Settings(t)["RABBITMQ_URL"]
	require.Equal(t, known(first), old)
	stack.Command(t, "../../tools/stack.sh", []string{"RABBITMQ_URL=" + old}, "restart", "rabbitmq")
	second := stack.Settings(t)["RABBITMQ_URL"]
	require.NotEqual(t, first, second)
	require.NoError(t, dial(t, second, "kept"))
	require.Error(t, dial(t, first, ""))
}

// known returns an address with the default password of RabbitMQ.
func known(address string) string {
	_, host, _ := strings.Cut(address, "@")
	return "amqp://guest:guest@" + host
}

// dial connects, and declares a durable queue. It keeps an existing queue.
func dial(t *testing.T, address, queue string) error {
	t.Helper()
	conn, err := amqp.Dial(address)
	if err != nil || queue == "" {
		return err
	}
	defer func() { _ = conn.Close() }()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
	return err
}
