package dialects

// orderService is the outbox of an order service. A row is NEW until it is SENT or FAILED. Rows
// are read in the order of their creation.
var orderService = dialect{
	key: "id",
	columns: []column{
		{name: "id", types: []string{"uuid"}, notNull: true},
		{name: "aggregate_type", types: texts},
		{name: "aggregate_id", types: []string{"uuid", "text", "character varying", "bigint", "integer"}},
		{name: "event_type", types: texts},
		{name: "payload", types: payloads},
		{name: "status", types: []string{"character varying", "text"}, notNull: true, written: true},
		{name: "created_at", types: times, notNull: true},
		{name: "sent_at", types: times, written: true},
		{name: "error_message", types: texts, written: true},
	},
	indexes: []neededIndex{
		{
			name: "idx_outbox_status_created", columns: []string{"status", "created_at"}, leading: 2,
			partialOn: "created_at", pending: []string{"status = 'NEW'"}, finds: true,
		},
		{name: "idx_outbox_aggregate", columns: []string{"aggregate_id"}, leading: 1},
	},

	first: "-infinity/00000000-0000-0000-0000-000000000000",
	pending: `
		SELECT id::text AS key,
		       created_at::text || '/' || id::text AS cursor,
		       coalesce(event_type, '') AS event_type,
		       coalesce(aggregate_type, '') AS aggregate_type,
		       coalesce(aggregate_id::text, '') AS aggregate_id,
		       '' AS correlation_id,
		       '' AS traceparent,
		       payload::text AS payload,
		       CASE WHEN ` + usableTime + ` THEN created_at::timestamptz END AS created_at
		FROM   {table} o
		WHERE  status = 'NEW'
		AND    (created_at, id) > ($1, $2)
		ORDER BY o.created_at, id -- the column of the table: the selected value has no index
		LIMIT  $3`,
	still: `
		SELECT id::text
		FROM   {table}
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status = 'NEW'`,
	sent: `
		UPDATE {table}
		SET    status        = 'SENT',
		       sent_at       = now(),
		       error_message = NULL
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status <> 'SENT'`,
	// A service's column may be shorter than errorLength, so the message is cut to the column's length.
	failed: `
		UPDATE {table} AS o
		SET    status        = 'FAILED',
		       error_message = left($2, (SELECT coalesce(nullif(atttypmod, -1) - 4, length($2))
		                                 FROM   pg_attribute
		                                 WHERE  attrelid = o.tableoid
		                                 AND    attname = 'error_message'))
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status = 'NEW'`,
	reopen: `
		UPDATE {table}
		SET    status        = 'NEW',
		       error_message = NULL
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status = 'FAILED'`,
	state: `
		SELECT p.pending, f.failed, p.oldest
		FROM  (SELECT count(*) AS pending,
		              coalesce(greatest(clock_timestamp() - min(created_at) FILTER (WHERE ` + usableTime + `), '0'), '0') AS oldest
		       FROM  (SELECT created_at
		              FROM   {table}
		              WHERE  status = 'NEW'
		              ORDER BY created_at
		              LIMIT  $1) AS first) AS p,
		      (SELECT count(*) AS failed
		       FROM  (SELECT
		              FROM   {table}
		              WHERE  status = 'FAILED'
		              LIMIT  $1) AS any_of_them) AS f`,
	done: `
		SELECT id::text AS key,
		       created_at::text || '/' || id::text AS cursor
		FROM   {table}
		WHERE  status = 'SENT'
		AND    created_at < now() - $3::interval
		AND    coalesce(sent_at, created_at) < now() - $3::interval
		AND    (created_at, id) > ($1, $2)
		ORDER BY created_at, id
		LIMIT  $4`,
	deleteDone: `
		DELETE FROM {table}
		WHERE  id = ANY ($1::text[]::uuid[])
		AND    status = 'SENT'
		AND    coalesce(sent_at, created_at) < now() - $2::interval`,
}
