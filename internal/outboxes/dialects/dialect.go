package dialects

import (
	"herald/internal/outboxes"
)

// byName has one entry for each of [outboxes.Dialects].
var byName = map[outboxes.Dialect]dialect{
	outboxes.OrderService: orderService,
	outboxes.WalletHub:    walletHub,
}

// dialect is what a table must have, and the statements over it. {table} in them stands
// for its name.
type dialect struct {
	key     string // the column by which rows are marked; unique
	columns []column
	indexes []index

	first   string // the cursor before all rows
	pending string // $1 …: the parts of a cursor, which has slashes between them; last a limit
	still   string // $1: keys, of which it returns those that are pending

	sent   string // $1: keys
	failed string // $1: keys, $2: message; empty: its table has no word for it
	reopen string // $1: keys; empty likewise

	state string // $1: how many rows it counts at most

	done       string // $1 …: the parts of a cursor; then an age, and a limit
	deleteDone string // $1: keys, $2: an age
}

// column is one that a dialect needs.
type column struct {
	name    string
	types   []string // that it may have; the first is the one that the service documents
	notNull bool     // a row with null there would never be read
	written bool     // by Herald
}

// index is one that a dialect needs.
type index struct {
	name    string   // of the table with the name outbox
	columns []string // that it is created on
	leading int      // an index that begins with that many of them will do

	// A partial index over the pending rows alone does as well.
	partialOn string   // begins with this column; empty: none does
	pending   []string // its condition is one of these, without brackets and casts
	where     string   // of the index that is created; empty: it has all rows
	finds     bool     // the rows that are done, too: a partial one will not do where they leave
}

// The types that columns of several dialects may have.
var (
	texts    = []string{"text", "character varying"}
	payloads = []string{"text", "character varying", "json", "jsonb"}
	times    = []string{"timestamp without time zone", "timestamp with time zone"}
)

// errorLength is how much of a message a table gets, in characters: as many as the usual
// column of a service holds. Herald's own table has all of it.
const errorLength = 255

// heralds is Herald's own outbox on its way to a topic. Its migrations make the table, so
// nothing is checked but the index, which only an outbox with a topic needs.
var heralds = dialect{
	key: "event_id",
	indexes: []index{{
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
