package dialects

import (
	"herald/internal/relay"
)

// byName has one entry for each of [relay.Dialects].
var byName = map[relay.Dialect]dialect{
	relay.OrderService: orderService,
	relay.WalletHub:    walletHub,
}

// dialect is the form that a table must have, and the statements for it. In statements, {table}
// is replaced by the table's name.
type dialect struct {
	key     string // the unique column that identifies rows for marks
	columns []column
	indexes []neededIndex

	triggers []neededTrigger // that write the table; empty: its service writes it

	first   string // the cursor before the first row
	pending string // $1 …: the parts of a cursor, separated by slashes; last: a limit
	still   string // $1: keys; returns the keys that are pending

	sent   string // $1: keys
	failed string // $1: keys, $2: message; empty: the table cannot mark failures
	reopen string // $1: keys; empty: the table cannot mark failures

	state string // $1: the maximum number of rows to count; if the table cannot mark failures, $2: keys of failed rows

	done       string // $1 …: the parts of a cursor; then an age and a limit
	deleteDone string // $1: keys, $2: an age
}

// column is a column that a dialect needs.
type column struct {
	name    string
	types   []string // allowed types; the service documents the first
	notNull bool     // a row with a null in this column would never be read
	written bool     // by Herald
}

// neededIndex is an index that a dialect needs.
type neededIndex struct {
	name    string   // for a table with the name outbox
	columns []string // columns in the created index
	leading int      // an index that begins with this many of the columns is enough

	// A partial index over the pending rows is enough too.
	partialOn string   // it begins with this column; empty: no partial index is enough
	pending   []string // its condition is one of these, without brackets and casts
	where     string   // condition of the created index; empty: the index has all rows
	finds     bool     // also finds finished rows; with a retention, a partial index is not enough
}

// The column types that several dialects allow.
var (
	texts    = []string{"text", "character varying"}
	payloads = []string{"text", "character varying", "json", "jsonb"}
	times    = []string{"timestamp without time zone", "timestamp with time zone"}
)

// errorLength limits a message in a service's table, in characters. A shorter column gets the beginning.
const errorLength = 10_000

// heralds is Herald's own outbox. Migrations create the table, so Herald checks only the index. Only an
// outbox with a topic needs that index.
var heralds = dialect{
	key: "event_id",
	indexes: []neededIndex{{
		name: "idx_outbox_unproduced", columns: []string{"seq"}, leading: 1, where: " WHERE produced_at IS NULL AND source = 'herald'",
		partialOn: "seq", pending: []string{"produced_at IS NULL AND source = 'herald'"},
	}},

	first: "-1",
	pending: `
		SELECT event_id AS key,
		       seq::text AS cursor,
		       event_type,
		       coalesce(aggregate_type, '') AS aggregate_type,
		       coalesce(aggregate_id, '') AS aggregate_id,
		       coalesce(correlation_id, '') AS correlation_id,
		       coalesce(traceparent, '') AS traceparent,
		       payload::text AS payload,
		       created_at
		FROM   {table}
		WHERE  source = 'herald'
		AND    produced_at IS NULL
		AND    seq > greatest($1::text::bigint, coalesce((SELECT seq FROM source_start WHERE source = 'herald'), 9223372036854775807))
		ORDER BY seq
		LIMIT  $2`,
	still: `
		SELECT event_id
		FROM   {table}
		WHERE  event_id = ANY ($1)
		AND    produced_at IS NULL`,
	sent: `
		UPDATE {table}
		SET    produced_at = now()
		WHERE  event_id = ANY ($1)
		AND    produced_at IS NULL`,
	state: `
		SELECT count(*) AS pending,
		       0 AS failed,
		       coalesce(greatest(clock_timestamp() - min(created_at), '0'), '0') AS oldest
		FROM  (SELECT created_at
		       FROM   {table}
		       WHERE  source = 'herald'
		       AND    produced_at IS NULL
		       AND    seq > coalesce((SELECT seq FROM source_start WHERE source = 'herald'), 9223372036854775807)
		       ORDER BY seq
		       LIMIT  $1) AS first`,
}
