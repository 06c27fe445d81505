package dialects_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/relay"
	"herald/internal/relay/dialects"
)

// The documented tables lack only indexes.
func TestDocumentedTablesLackOnlyIndexes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		service func(*testing.T) service
		indexes map[string]string // by their columns
	}{
		{"order-service", orders, map[string]string{"status, created_at": "idx_outbox_status_created", "aggregate_id": "idx_outbox_aggregate"}},
		{"wallet-hub", wallet, map[string]string{"sent, id": "idx_outbox_sent", "correlation_id": "idx_outbox_correlation_id"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := tt.service(t)
			table := s.table(t)
			found := missing(t, table)
			require.Len(t, found, len(tt.indexes))
			for _, f := range found {
				on := strings.TrimPrefix(f.What, "there is no index on ")
				require.Contains(t, f.Remedy, "`starter source migrate "+s.config.Name+"`")
				require.Contains(t, f.Remedy, `CREATE INDEX CONCURRENTLY "`+tt.indexes[on]+`" ON`)
			}

			migrate(t, table)
			require.Empty(t, missing(t, table))
		})
	}
}

// Each defect gives one finding with a remedy.
func TestMissing(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name         string
		service      func(*testing.T) service
		sql          string
		what, remedy string
	}{
		{"no table", orders, "DROP TABLE orders.outbox", "no table orders.outbox", "correct `table:`"},
		{"a view", orders, "ALTER TABLE orders.outbox RENAME TO o; CREATE VIEW orders.outbox AS SELECT * FROM orders.o", "not an ordinary table",
			"name the table itself"},
		{"no column", orders, "ALTER TABLE orders.outbox DROP COLUMN error_message", "no column error_message, of type text",
			"ADD COLUMN error_message text"},
		{"a large object", wallet, "ALTER TABLE public.outbox ALTER COLUMN payload TYPE oid USING 0",
			"column payload is of type oid; it must be text or", "change its type"},
		{"status may be null", orders, "ALTER TABLE orders.outbox ALTER COLUMN status DROP NOT NULL", "column status may be null",
			"ALTER COLUMN status SET NOT NULL"},
		{"sent may be null", wallet, "ALTER TABLE public.outbox ALTER COLUMN sent DROP NOT NULL", "column sent may be null",
			"ALTER COLUMN sent SET NOT NULL"},
		{"no key", wallet, "ALTER TABLE public.outbox DROP CONSTRAINT outbox_pkey", "column id is not unique", "ADD PRIMARY KEY (id)"},
		{"an index that is half built", wallet, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'public.idx_outbox_sent'::regclass",
			"no index on sent, id", "source migrate wallet"},
		{"an index on other rows", wallet, "DROP INDEX public.idx_outbox_sent; CREATE INDEX ON public.outbox (id) WHERE sent",
			"no index on sent, id", "source migrate wallet"},
		{"another dialect's table", wallet, "ALTER TABLE public.outbox RENAME COLUMN sent TO done", "no column sent, of type boolean",
			"name another dialect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := tt.service(t)
			table := s.migrated(t)
			s.exec(t, tt.sql)

			found := missing(t, table)
			require.NotEmpty(t, found)
			require.Contains(t, found[0].What, tt.what)
			require.Contains(t, found[0].Remedy, tt.remedy)
			if tt.name != "another dialect's table" { // that table has another index too
				require.Len(t, found, 1)
			}
		})
	}
}

// Remedies run unchanged, with any table name.
func TestRemediesOfQuotedNames(t *testing.T) {
	t.Parallel()

	s := orders(t)
	s.exec(t, `ALTER SCHEMA orders RENAME TO "Sales"; ALTER TABLE "Sales".outbox RENAME TO "OutBox"; ALTER TABLE "Sales"."OutBox"
		DROP CONSTRAINT outbox_pkey, ALTER COLUMN status DROP NOT NULL, DROP COLUMN sent_at`)
	s.config.Table = "Sales.OutBox"
	table := s.table(t)

	found := missing(t, table)
	require.Len(t, found, 5)
	for _, f := range found {
		_, statement, _ := strings.Cut(f.Remedy, "as the table's owner: ")
		statement, _, _ = strings.Cut(cmp.Or(statement, f.Remedy), ", or name")
		s.exec(t, statement)
	}
	require.Empty(t, missing(t, table))
}

// Other indexes than the documented indexes may be enough. An index over only the pending rows does not
// find the rows to delete.
func TestIndexesThatServe(t *testing.T) {
	t.Parallel()

	const byCorrelation = "; CREATE INDEX ON public.outbox (correlation_id)"
	const newOrders = "CREATE INDEX ON orders.outbox (created_at) WHERE status = 'NEW'; CREATE INDEX ON orders.outbox (aggregate_id, " +
		"created_at)"
	tests := []struct {
		name      string
		service   func(*testing.T) service
		sql       string
		retention time.Duration
		missing   int
	}{
		{"on sent alone", wallet, "CREATE INDEX ON public.outbox (sent)" + byCorrelation, 0, 0},
		{"on sent and the time", wallet, "CREATE INDEX ON public.outbox (sent, created_at)" + byCorrelation, 0, 0},
		{"on rows that are not sent", wallet, "CREATE INDEX ON public.outbox (id) WHERE NOT sent" + byCorrelation, 0, 0},
		{"on rows that are not sent, said otherwise", wallet, "CREATE INDEX ON public.outbox (id) WHERE sent = false" + byCorrelation, 0, 0},
		{"wallets that leave by their ids", wallet, "CREATE INDEX ON public.outbox (id) WHERE NOT sent" + byCorrelation, time.Hour, 0},
		{"on new rows", orders, newOrders, 0, 0},
		{"orders that leave", orders, newOrders, time.Hour, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := tt.service(t)
			s.exec(t, tt.sql)
			s.config.Retention = tt.retention
			require.Len(t, missing(t, s.table(t)), tt.missing)
		})
	}
}

// migrated returns the table with its indexes.
func (s service) migrated(t *testing.T) *dialects.Table {
	t.Helper()
	table := s.table(t)
	migrate(t, table)
	return table
}

func migrate(t *testing.T, table *dialects.Table) {
	t.Helper()
	additions, err := table.Additions(t.Context())
	require.NoError(t, err)
	require.NoError(t, table.Add(t.Context(), additions, func(dialects.Addition) {}))
}

func missing(t *testing.T, table *dialects.Table) []dialects.Finding {
	t.Helper()
	found, err := table.Missing(t.Context())
	require.NoError(t, err)
	return found
}

// The remedies grant a role exactly the rights that it needs.
func TestMissingRights(t *testing.T) {
	t.Parallel()

	s := orders(t)
	s.migrated(t)
	role := "Herald " + rand.Text()
	quoted := pgx.Identifier{role}.Sanitize()
	s.exec(t, "CREATE ROLE "+quoted)
	t.Cleanup(func() {
		_, err := s.conn.Exec(context.Background(), "DROP OWNED BY "+quoted+"; DROP ROLE "+quoted)
		require.NoError(t, err)
	})
	s.config.DatabaseURL += "&role=" + strings.ReplaceAll(quoted[1:len(quoted)-1], " ", "%20")
	s.config.Retention = 1
	table := s.table(t)

	found := missing(t, table)
	var whats []string
	for _, f := range found {
		whats = append(whats, f.What)
		require.Contains(t, f.Remedy, "GRANT ")
		s.exec(t, f.Remedy)
	}
	require.Len(t, whats, 4)
	for i, what := range []string{"use the schema orders", "read id, aggregate_type", "update status, sent_at, error_message", "delete rows"} {
		require.Contains(t, whats[i], "the role "+role+" may not "+what)
	}
	require.Empty(t, missing(t, table))
	s.addOrder(t, "01", "NEW", "2026-11-22 10:00:00", "{}")
	require.NoError(t, table.MarkSent(t.Context(), []string{id("01")}))
	require.Equal(t, "SENT", s.text(t, "SELECT status FROM orders.outbox"))
}

func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()

	s := wallet(t)
	s.migrated(t)
	s.config.DatabaseURL += "&default_transaction_read_only=on"
	found := missing(t, s.table(t))
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "read-only")
	require.Contains(t, found[0].Remedy, "primary server")
}

// If the database does not answer, the error names the source and contains no secret.
func TestDatabaseOutOfReach(t *testing.T) {
	t.Parallel()

	config := relay.Source{
		Name: "orders", Dialect: relay.OrderService, Table: "orders.outbox", DatabaseURL: "postgres://u:verysecret@127.0.0.1:1/d",
	}
	table, err := dialects.Open(t.Context(), config)
	require.NoError(t, err)
	defer table.Close()
	_, err = table.Missing(t.Context())
	require.ErrorContains(t, err, "source orders: look at orders.outbox:")
	require.NotContains(t, err.Error(), "verysecret")

	config.DatabaseURL = "postgres://u:verysecret@h:port/d"
	_, err = dialects.Open(t.Context(), config)
	require.ErrorContains(t, err, "source orders: its database URL is malformed")
	require.NotContains(t, err.Error(), "verysecret")
	config.Dialect = "cobol"
	_, err = dialects.Open(t.Context(), config)
	require.ErrorContains(t, err, `no dialect "cobol"`)
}
