package relay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/relay/dialects/dialecttest"
)

const day = 24 * time.Hour

func texts(t *testing.T, s *db.DB, sql string) (text string) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), sql).Scan(&text))
	return text
}

func openDone(ctx context.Context, source relay.Source) (relay.DoneTable, error) {
	return dialects.Open(ctx, source)
}

// wallet returns Herald's database and a wallet hub's outbox in a separate database. The outbox
// has the given number of rows, sent two days ago.
func wallet(t *testing.T, rows int) (herald, business *db.DB, outbox relay.Cleaner) {
	t.Helper()
	herald = postgrestest.New(t)
	config := relay.Source{Name: "wallet", Dialect: relay.WalletHub, DatabaseURL: postgrestest.URL(t), Table: "public.outbox"}
	business, err := db.Open(t.Context(), config.DatabaseURL, "business")
	require.NoError(t, err)
	t.Cleanup(business.Close)
	exec(t, business, dialecttest.Wallets("outbox"))
	exec(t, business,
		"INSERT INTO outbox SELECT i, 'FundsAdded', '{}', NULL, timezone('UTC', now()) - interval '48 hours', true "+
			"FROM generate_series(1, $1::int) i", rows)
	return herald, business, relay.Cleaner{Source: config, Store: relay.On(herald), Open: openDone}
}

// event inserts Herald's data about a wallet's row.
func event(t *testing.T, s *db.DB, id string, status notification.OutboxStatus, processed notification.ProcessedStatus) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: id, Source: "wallet", Status: status})
	if processed != "" {
		postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{ID: id, Status: processed})
	}
}

// A row stays until Herald has finished its event, even if its own table has finished it. Count
// counts the rows that Clean deletes.
func TestClean(t *testing.T) {
	t.Parallel()

	herald, business, outbox := wallet(t, 8)
	exec(t, business, "UPDATE outbox SET sent = false WHERE id = 7")
	exec(t, business, "UPDATE outbox SET created_at = timezone('UTC', now()) WHERE id = 8")
	event(t, herald, "wallet-1", "PROCESSED", "SUCCESS")
	event(t, herald, "wallet-2", "PROCESSED", "PROCESSING")
	event(t, herald, "wallet-3", "PENDING", "")
	event(t, herald, "wallet-4", "FAILED", "FAILED")
	event(t, herald, "wallet-5", "PENDING", "")

	counted, err := outbox.Count(t.Context(), day, 100)
	require.NoError(t, err)
	require.Equal(t, 2, counted, "row 1, and row 6, which was sent before Herald knew the table")
	deleted := 0
	require.NoError(t, outbox.Clean(t.Context(), day, "", func(n int, _ string) bool {
		deleted += n
		return true
	}))

	require.Equal(t, 2, deleted)
	require.Equal(t, "2 3 4 5 7 8", texts(t, business, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM outbox"))
}

// Clean deletes rows in batches. It stops on request and continues from the cursor.
func TestCleanByBatches(t *testing.T) {
	t.Parallel()

	herald, business, outbox := wallet(t, 1200)
	for _, id := range []string{"wallet-1", "wallet-700"} {
		event(t, herald, id, "PENDING", "")
	}
	var batches []int
	var cursor string
	for _, stopped := range []bool{true, false} {
		require.NoError(t, outbox.Clean(t.Context(), day, cursor, func(n int, after string) bool {
			batches, cursor = append(batches, n), after
			return !stopped
		}))
	}

	require.Equal(t, []int{499, 499, 200}, batches)
	require.Equal(t, "1 700", texts(t, business, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM outbox"))

	counted, err := outbox.Count(t.Context(), day, 100)
	require.NoError(t, err)
	require.Zero(t, counted)
}

// dying is a table whose process dies after it has deleted rows.
type dying struct{ relay.DoneTable }

func (d dying) DeleteDone(ctx context.Context, keys []string, age time.Duration) (int, error) {
	_, err := d.DoneTable.DeleteDone(ctx, keys, age)
	return 0, errors.Join(err, errors.New("dead"))
}

// If the process dies after it deleted rows, Herald has already forgotten these rows. Nothing would forget
// them later.
func TestCleanAfterADeath(t *testing.T) {
	t.Parallel()

	herald, business, outbox := wallet(t, 3)
	postgrestest.Add(t, herald.Pool, postgrestest.SourceRow{
		Source: "wallet", Key: "2", EventID: "wallet-2", PeopleError: "no JSON", SentAt: time.Now(), MarkedAt: time.Now(),
	})
	outbox.Open = func(ctx context.Context, source relay.Source) (relay.DoneTable, error) {
		table, err := openDone(ctx, source)
		return dying{table}, err
	}

	require.ErrorContains(t, outbox.Clean(t.Context(), day, "", func(int, string) bool { return true }), "dead")
	require.Zero(t, count(t, business, "outbox"))
	require.Zero(t, count(t, herald, "source_row"))
}

// If Herald's database is unreachable, open events are unknown, so nothing is deleted.
func TestCleanWithoutHerald(t *testing.T) {
	t.Parallel()

	herald, business, outbox := wallet(t, 3)
	herald.Close()

	require.Error(t, outbox.Clean(t.Context(), day, "", func(int, string) bool { return true }))
	require.Equal(t, "3", texts(t, business, "SELECT count(*)::text FROM outbox"))
}
