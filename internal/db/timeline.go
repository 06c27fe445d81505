package db

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// place is where a server is in the history of its cluster. A standby that becomes the primary begins a
// new timeline, and the former primary stays on its timeline.
type place struct {
	cluster  string // the system identifier; empty: the server does not tell it
	timeline uint64 // 0: unknown
}

// newest is the newest place that the connections of a process have seen. After a failover, the former
// primary may still answer and take writes, which nobody would see again. Its timeline is lower.
type newest struct {
	mu   sync.Mutex
	seen place
}

// placeKey is the key of a connection's place in its custom data.
const placeKey = "herald: place"

// check refuses a new connection to a server that is behind. A place in another cluster counts as newer:
// an operator has moved the database. A server that does not tell its place is never behind.
func (n *newest) check(ctx context.Context, conn *pgconn.PgConn) error {
	found, err := placeOf(ctx, conn)
	if err != nil {
		return err
	}
	if n.behind(found) {
		return &StaleError{Timeline: found.timeline, Seen: n.see(place{}).timeline}
	}
	n.see(found)
	conn.CustomData()[placeKey] = found
	return nil
}

// placeOf asks a server for its place. A replica, and a service without these functions, have none.
func placeOf(ctx context.Context, conn *pgconn.PgConn) (place, error) {
	const query = `
		SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8), (SELECT system_identifier FROM pg_control_system())
		WHERE  NOT pg_is_in_recovery()`

	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil && (conn.IsClosed() || ctx.Err() != nil) {
		return place{}, err
	}
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return place{}, nil
	}
	row := results[0].Rows[0]
	timeline, err := strconv.ParseUint(string(row[0]), 16, 64)
	if err != nil {
		return place{}, fmt.Errorf("read the timeline of the database: %w", err)
	}
	return place{cluster: string(row[1]), timeline: timeline}, nil
}

// behind reports whether a place is older than the newest one.
func (n *newest) behind(p place) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.timeline > 0 && p.cluster == n.seen.cluster && p.timeline < n.seen.timeline
}

// see keeps a place unless it is unknown, and returns the newest one.
func (n *newest) see(p place) place {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.timeline > 0 && (p.cluster != n.seen.cluster || p.timeline > n.seen.timeline) {
		n.seen = p
	}
	return n.seen
}

// current reports whether a connection leads to a server that is not behind.
func (n *newest) current(conn *pgx.Conn) bool {
	found, _ := conn.PgConn().CustomData()[placeKey].(place)
	return !n.behind(found)
}

// StaleError means that DATABASE_URL leads to a former primary.
type StaleError struct {
	Timeline uint64 // of the server
	Seen     uint64 // the newest timeline that this process has seen
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("the database is a former primary: its timeline %d is behind %d: stop it, or let DATABASE_URL lead to the primary; "+
		"if you went back to a backup on purpose, restart this process", e.Timeline, e.Seen)
}
