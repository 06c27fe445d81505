package dialects

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/relay"
	"herald/internal/relay/dialects/dialecttest"
)

// Every page of a backlog is read and marked by an index, wherever the page begins. No statement reads
// more rows than the page has.
func TestPagesAreReadByIndexes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		dialect relay.Dialect
		create  string
		fill    string
	}{
		{relay.OrderService, dialecttest.Orders("outbox"), `INSERT INTO outbox (aggregate_type, event_type, payload, status, created_at)
			SELECT 'Order', 'OrderCreated', '{}', 'NEW', now() + n * interval '1 ms' FROM generate_series(1, 20000) AS n; CREATE INDEX
			       ON outbox (status, created_at)`},
		{relay.WalletHub, dialecttest.Wallets("outbox"),
			`INSERT INTO outbox (event_type, payload) SELECT 'FundsAdded', '{}' FROM generate_series(1, 20000); CREATE INDEX ON outbox (sent, id)`},
	}
	for _, tt := range tests {
		t.Run(string(tt.dialect), func(t *testing.T) {
			t.Parallel()

			table, err := Open(t.Context(), relay.Source{Name: "a", Dialect: tt.dialect, Table: "public.outbox", DatabaseURL: postgrestest.URL(t)})
			require.NoError(t, err)
			t.Cleanup(table.Close)
			for _, sql := range []string{tt.create, tt.fill, "ANALYZE outbox"} {
				_, err := table.pool.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			snapshot, err := table.Snapshot(t.Context())
			require.NoError(t, err)
			page, _, err := snapshot.Page(t.Context(), "", 10_000)
			require.NoError(t, err)
			snapshot.Close(t.Context())
			var keys []string
			for _, row := range page[:500] {
				keys = append(keys, row.Key)
			}
			statements := []struct {
				sql    string
				params []any
			}{
				{table.dialect.pending, append(table.cursor(""), 500)},
				{table.dialect.pending, append(table.cursor(page[len(page)-1].Cursor), 500)},
				{table.dialect.still, []any{keys}},
				{table.dialect.sent, []any{keys}},
			}
			for _, statement := range statements {
				rows, _ := table.pool.Query(t.Context(), "EXPLAIN "+table.sql(statement.sql), statement.params...) // CollectRows returns its error
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan", "%s", strings.Join(plan, "\n"))
			}
		})
	}
}

// Postgres compiles no statement, even if the table lacks the index. Compiling the statement of a page
// would take 0.4 s.
func TestPagesAreNotCompiled(t *testing.T) {
	t.Parallel()

	table, err := Open(t.Context(),
		relay.Source{Name: "a", Dialect: relay.OrderService, Table: "public.outbox", DatabaseURL: postgrestest.URL(t)})
	require.NoError(t, err)
	t.Cleanup(table.Close)
	_, err = table.pool.Exec(t.Context(), dialecttest.Orders("outbox"))
	require.NoError(t, err)

	// CollectRows returns its error
	rows, _ := table.pool.Query(t.Context(), "EXPLAIN ANALYZE "+table.sql(table.dialect.pending), append(table.cursor(""), 500)...)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotContains(t, strings.Join(plan, "\n"), "JIT")
}
