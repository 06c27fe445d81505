// Package roomtest plants rows, repeats steps and records statements for the tests of several rooms.
package roomtest

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
)

// New returns a store that knows addresses by their hashes, and that has the rows of each plan.
func New(t *testing.T, plans ...func(*testing.T, *db.DB)) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	s.AddressHash = Hashed
	for _, plan := range plans {
		plan(t, s)
	}
	return s
}

// Empty deletes the rows of an earlier case. It is much quicker than a new database.
func Empty(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Exec(t, s, `
		DELETE FROM notification_decision; DELETE FROM notification; DELETE FROM delivery_receipt; DELETE FROM delivery_follow_up;
		DELETE FROM event_type_escalation; DELETE FROM event_type_channel_routing; DELETE FROM event_category;
		DELETE FROM entity_follow; DELETE FROM entity_mute;
		DELETE FROM event_type_recipients; DELETE FROM entity_notification_settings;
		DELETE FROM user_notification_preferences; DELETE FROM user_category_preferences;
		DELETE FROM user_settings; DELETE FROM recipient_suppression; DELETE FROM recipient; DELETE FROM processed_event;
		DELETE FROM event_outbox;
		INSERT INTO channel_user_type (channel_type, user_type) VALUES ('EMAIL', 'RESTAURANT_USER') ON CONFLICT DO NOTHING`)
}

// Hashed replaces the keyed hash with SHA-256, which SQL can compute.
func Hashed(address string) []byte {
	hash := sha256.Sum256([]byte(address))
	return hash[:]
}

// AwaitLock waits until a session waits for the lock of another session.
func AwaitLock(t *testing.T, s *db.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		return postgrestest.Get[bool](t, s,
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
	}, time.Minute, 5*time.Millisecond)
}

// CommitDuring calls f, and commits a transaction while f waits for its lock.
func CommitDuring(t *testing.T, s *db.DB, tx pgx.Tx, f func() error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	AwaitLock(t, s)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
}

// SideBySide calls f(0) to f(n-1) at the same time.
func SideBySide(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var group errgroup.Group
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	require.NoError(t, group.Wait())
}

// Mapped returns f of each element.
func Mapped[T, R any](all []T, f func(T) R) (results []R) {
	for _, one := range all {
		results = append(results, f(one))
	}
	return results
}

// Must returns the value of a call and fails the test if the call has failed.
func Must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}

// ErrOf returns the error of a call, and ErrOfTwo of a call with two results.
func ErrOf[T any](_ T, err error) error { return err }

func ErrOfTwo[A, B any](_ A, _ B, err error) error { return err }
