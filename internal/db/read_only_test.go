package db_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/roomtest"
)

const write = "INSERT INTO channel_turn VALUES (gen_random_uuid()::text, now())"

// A store is not ready while its database refuses writes, and replaces its connections afterwards: a
// session keeps the database's setting from its start.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	server := roomtest.Must(pgx.Connect(t.Context(), os.Getenv("DATABASE_URL")))(t)
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	set := func(sql string) {
		name := pgx.Identifier{s.Pool.Config().ConnConfig.Database}.Sanitize()
		roomtest.Must(server.Exec(t.Context(), "ALTER DATABASE "+name+" "+sql))(t)
	}
	set("SET default_transaction_read_only = on")
	useAllConnections(t, s)
	require.ErrorContains(t, s.Ready(t.Context()), "read-only")
	require.ErrorContains(t, s.Exec(t.Context(), "write", write), "read-only transaction")

	set("RESET default_transaction_read_only")

	require.NoError(t, s.Ready(t.Context()))
	for range s.Pool.Config().MaxConns {
		require.NoError(t, s.Exec(t.Context(), "write", write))
	}
}

// A server that turns read-only under its connections, as after a failover, loses each connection with
// its next statement. The following statement goes to the server that DATABASE_URL names now.
func TestServerTurnsReadOnly(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	all := useAllConnections(t, s, "SET default_transaction_read_only = on")

	for range all {
		require.NoError(t, s.Exec(t.Context(), "write", write))
	}
}

// useAllConnections opens all connections of the pool, runs SQL on each, and returns their number.
func useAllConnections(t *testing.T, s *db.DB, sql ...string) int32 {
	t.Helper()
	all := s.Pool.Config().MaxConns
	var used []*pgxpool.Conn
	for range all {
		conn := roomtest.Must(s.Pool.Acquire(t.Context()))(t)
		for _, statement := range sql {
			roomtest.Must(conn.Exec(t.Context(), statement))(t)
		}
		used = append(used, conn)
	}
	for _, conn := range used {
		conn.Release()
	}
	return all
}
