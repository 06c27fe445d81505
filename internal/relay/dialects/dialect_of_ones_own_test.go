package dialects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/relay"
)

// shippingTable is the outbox of a shipping service. A row is pending until it is delivered.
const shippingTable = `
	CREATE TABLE shipping.events (
		number       text PRIMARY KEY,
		kind         text NOT NULL,
		body         jsonb,
		shipped_at   timestamptz NOT NULL,
		delivered_at timestamptz
	)`

// shipping is the dialect of shippingTable. It is the example of CONTRIBUTING.md.
var shipping = dialect{
	key: "number",
	columns: []column{
		{name: "number", types: texts, notNull: true},
		{name: "kind", types: texts},
		{name: "body", types: payloads},
		{name: "shipped_at", types: times, notNull: true},
		{name: "delivered_at", types: times, written: true},
	},
	indexes: []neededIndex{{
		name: "idx_outbox_delivered", columns: []string{"delivered_at", "shipped_at"}, leading: 2,
		partialOn: "shipped_at", pending: []string{"delivered_at IS NULL"}, finds: true,
	}},
	first: "-infinity/",
	pending: `
		SELECT number AS key,
		       shipped_at::text || '/' || number AS cursor,
		       kind AS event_type,
		       'SHIPMENT' AS aggregate_type,
		       number AS aggregate_id,
		       '' AS correlation_id,
		       '' AS traceparent,
		       body::text AS payload,
		       shipped_at AS created_at
		FROM   {table}
		WHERE  delivered_at IS NULL
		AND    (shipped_at, number) > ($1, $2)
		ORDER BY shipped_at, number
		LIMIT  $3`,
	still: `
		SELECT number
		FROM   {table}
		WHERE  number = ANY ($1)
		AND    delivered_at IS NULL`,
	sent: `
		UPDATE {table}
		SET    delivered_at = now()
		WHERE  number = ANY ($1)
		AND    delivered_at IS NULL`,
	state: `
		SELECT count(*) AS pending,
		       0 AS failed,
		       coalesce(greatest(clock_timestamp() - min(shipped_at), '0'), '0') AS oldest
		FROM  (SELECT shipped_at
		       FROM   {table}
		       WHERE  delivered_at IS NULL
		       AND    number <> ALL ($2)
		       LIMIT  $1) AS first`,
	done: `
		SELECT number AS key,
		       delivered_at::text || '/' || number AS cursor
		FROM   {table}
		WHERE  delivered_at < now() - $3::interval
		AND    (delivered_at, number) > ($1, $2)
		ORDER BY delivered_at, number
		LIMIT  $4`,
	deleteDone: `
		DELETE FROM {table}
		WHERE  number = ANY ($1)
		AND    delivered_at < now() - $2::interval`,
}

func TestAddedDialect(t *testing.T) {
	t.Parallel()

	url := postgrestest.URL(t)
	business, err := db.Open(t.Context(), url, "shipping")
	require.NoError(t, err)
	defer business.Close()
	_, err = business.Pool.Exec(t.Context(), "CREATE SCHEMA shipping;"+shippingTable)
	require.NoError(t, err)
	_, err = business.Pool.Exec(t.Context(), `INSERT INTO shipping.events (number, kind, body, shipped_at) VALUES
		('IT/2', 'ShipmentSent', '{"n": 2}', '2026-11-22 11:00+01'), ('IT/1', 'ShipmentSent', '{"n": 1}', '2026-11-22 10:00+00'),
		       ('IT/3', 'ShipmentSent', NULL, '2026-11-22 12:00+00')`)
	require.NoError(t, err)
	table, err := open(t.Context(), relay.Source{Name: "shipping", DatabaseURL: url, Table: "shipping.events"}, shipping)
	require.NoError(t, err)
	defer table.Close()

	missing, err := table.Additions(t.Context())
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.NoError(t, table.Add(t.Context(), missing, func(Addition) {}))
	lacking, err := table.Missing(t.Context())
	require.NoError(t, err)
	require.Empty(t, lacking)

	require.NoError(t, table.MarkSent(t.Context(), []string{"IT/3"}))
	snapshot, err := table.Snapshot(t.Context())
	require.NoError(t, err)
	defer snapshot.Close(t.Context())
	rows, next, err := snapshot.Page(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, "IT/1", rows[0].Key)
	rows, next, err = snapshot.Page(t.Context(), next, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Empty(t, next)
	still, err := table.StillPending(t.Context(), []string{"IT/2", "IT/3"})
	require.NoError(t, err)
	require.Equal(t, []string{"IT/2"}, still)
	require.Equal(t, `IT/2 ShipmentSent {"n": 2}`,
		strings.Join([]string{rows[0].AggregateID, rows[0].EventType, string(rows[0].Payload)}, " "))
	state, err := table.State(t.Context(), []string{})
	require.NoError(t, err)
	require.Equal(t, 2, state.Pending)

	done, err := table.Done(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.Len(t, done, 1)
	gone, err := table.DeleteDone(t.Context(), []string{done[0].Key, "IT/1"}, 0)
	require.NoError(t, err)
	require.Equal(t, 1, gone, "IT/3 is delivered, and IT/1 is not")
}
