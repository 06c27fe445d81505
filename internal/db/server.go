package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var errReadOnly = errors.New("the database is read-only")

// useNewestPrimary makes a pool refuse servers that are behind, and close the connections to them and to
// servers that turned read-only. If DATABASE_URL names several hosts, the pool tries the next one.
func useNewestPrimary(config *pgxpool.Config, seen *newest) {
	byURL := config.ConnConfig.ValidateConnect // of target_session_attrs
	config.ConnConfig.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if byURL != nil {
			if err := byURL(ctx, conn); err != nil {
				return err
			}
		}
		return seen.check(ctx, conn)
	}
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) { return seen.current(conn), nil }
	config.AfterRelease = func(conn *pgx.Conn) bool { return writable(conn) && seen.current(conn) }
}

// writable reports whether the server took writes at its last answer. A pool closes other connections:
// after a failover, a new connection leads to the new primary, and a session keeps the settings of its
// database and role from its start.
func writable(conn *pgx.Conn) bool {
	reported := conn.PgConn().ParameterStatus
	return reported("in_hot_standby") != "on" && reported("default_transaction_read_only") != "on"
}

// ReplicaRemedy is the next step after a [ReplicaError].
const ReplicaRemedy = "set DATABASE_URL to the primary's address; if it names several hosts, add target_session_attrs=primary"

// ReplicaError means that DATABASE_URL leads to a read replica.
type ReplicaError struct{}

func (*ReplicaError) Error() string {
	return "DATABASE_URL leads to a read replica, where Herald can write nothing: " + ReplicaRemedy
}

// Lasting reports that waiting does not help.
func (*ReplicaError) Lasting() bool { return true }

// RequirePrimary returns a [*ReplicaError] if the server is a read replica.
func (s *DB) RequirePrimary(ctx context.Context) error {
	replica, err := One(ctx, s.Pool, "look for a read replica", pgx.RowTo[bool], "SELECT pg_is_in_recovery()")
	if err == nil && replica {
		return &ReplicaError{}
	}
	return err
}

// LossyCommit is a place that switches synchronous_commit off: commits of its sessions can be lost.
type LossyCommit struct {
	Role   string // empty: the present session
	Source string // as in pg_settings, such as "database" or "configuration file"
}

// LossyCommits finds synchronous_commit=off in the present session, and in the settings of other
// roles that may write event_outbox.
func (s *DB) LossyCommits(ctx context.Context) ([]LossyCommit, error) {
	const query = `
		SELECT '' AS role, source
		FROM   pg_settings
		WHERE  name = 'synchronous_commit'
		AND    setting = 'off'
		UNION ALL
		SELECT r.rolname, 'user'
		FROM   pg_db_role_setting s
		JOIN   pg_roles r ON r.oid = s.setrole
		WHERE  s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
		AND    EXISTS (SELECT FROM unnest(s.setconfig) AS c (setting) WHERE c.setting ~* '^synchronous_commit=(off|false|no|0)$')
		AND    r.rolname <> current_user
		AND    (has_any_column_privilege(r.oid, to_regclass('event_outbox'), 'INSERT')
		       OR has_any_column_privilege(r.oid, to_regclass('event_outbox'), 'UPDATE'))
		ORDER BY 1`

	return Collect(ctx, s.Pool, "read synchronous_commit", pgx.RowToStructByPos[LossyCommit], query)
}
