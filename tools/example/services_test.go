package example_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/relay/dialects/dialecttest"
	"herald/tools/example"
)

// services returns a database with the tables of the two services.
func services(t *testing.T) *db.DB {
	t.Helper()
	db := seeded(t)
	tables, err := os.ReadFile("outboxes.sql")
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), string(tables))
	require.NoError(t, err)
	return db
}

// column is a column of a table.
type column struct {
	Name, Type string
	NotNull    bool
}

// The outboxes of the example have the columns from the services' documents.
func TestOutboxesMatchTheDocuments(t *testing.T) {
	t.Parallel()

	db := services(t)
	_, err := db.Pool.Exec(t.Context(), dialecttest.Orders("orders.document")+dialecttest.Wallets("wallet.document"))
	require.NoError(t, err)
	columns := func(table string) []column {
		return collect[column](t, db, `
			SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS not_null
			FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 ORDER BY attnum`, table)
	}
	require.NotEmpty(t, columns(example.OrdersTable))
	require.Equal(t, columns("orders.document"), columns(example.OrdersTable))
	require.Equal(t, columns("wallet.document"), columns(example.WalletTable))
}

// A service commits its events and its other rows together, or neither.
func TestServicesWriteTheirOutboxesInOneTransaction(t *testing.T) {
	t.Parallel()

	db := services(t)
	_, err := db.Pool.Exec(t.Context(), "ALTER TABLE wallet.outbox ADD CHECK (event_type <> 'FundsWithdrawn')")
	require.NoError(t, err)
	scripts := example.ServiceScripts("0a1b2c3d")
	require.Len(t, scripts, 2)
	_, err = db.Pool.Exec(t.Context(), scripts[0])
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), scripts[1])
	require.Error(t, err)

	var written []int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `
		SELECT ARRAY [(SELECT count(*) FROM orders.purchase), (SELECT count(*) FROM orders.outbox),
		              (SELECT count(*) FROM wallet.wallet), (SELECT count(*) FROM wallet.outbox)]`).Scan(&written))
	require.Equal(t, []int{2, 2, 0, 0}, written)
}
