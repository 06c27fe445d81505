package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// While the database is read-only, the worker and the gateway are not ready, no attempt is used and
// nothing fails. Afterwards everything is sent, without anybody reconnecting.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RETRY_INTERVAL=500ms", "EMAIL_RETRY_COEFFICIENT=1", "EMAIL_MAX_ATTEMPTS=3")
	s.customers(20)
	s.route("NEWS", "EMAIL", "SMS")
	w, g := s.startWorker(), s.startGateway()
	s.starter("poller", "start")
	s.fault("email", `{"status":500}`)
	retried := s.emit(s.name+"-retried", "NEWS", "CUSTOMER/1", "{}")
	s.awaitSome(1, "SELECT count(*) FROM delivery_attempt WHERE outcome <> 'SENT'")
	owner := must(pgx.Connect(t.Context(), withoutPoolSize(t, s.servers.databaseURL)))(t)
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	run := func(sql string, args ...any) { must(owner.Exec(t.Context(), sql, args...))(t) }
	database := "ALTER DATABASE " + pgx.Identifier{owner.Config().Database}.Sanitize()

	run(database + " SET default_transaction_read_only = on")
	run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	s.eventually(func() bool {
		return w.ready() == http.StatusServiceUnavailable && g.ready() == http.StatusServiceUnavailable
	}, "they are ready with a read-only database")
	s.mend()
	run(`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT $1::text || '-later-' || n, 'NEWS', 'CUSTOMER', n::text, '{}' FROM generate_series(1, 20) AS n`, s.name)
	time.Sleep(10 * time.Second) // more than all attempts take
	run(database + " RESET default_transaction_read_only")

	s.eventually(func() bool { return w.ready() == http.StatusOK && g.ready() == http.StatusOK },
		"they are not ready with a writable database")
	s.awaitDeliveries(retried, "SENT", 2)
	s.awaitCount(42, "SELECT count(*) FROM notification WHERE status = 'SENT'")
	require.Zero(t, s.count("SELECT count(*) FROM notification WHERE status <> 'SENT'"))
	require.Zero(t, s.count("SELECT count(*) FROM event_outbox WHERE status = 'FAILED'"))
	require.LessOrEqual(t, s.count("SELECT count(*) FROM delivery_attempt"), 44, "an attempt was used up")
	require.Equal(t, 42, len(s.accepted()))
}
