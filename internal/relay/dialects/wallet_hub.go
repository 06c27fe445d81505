package dialects

// walletHub is the outbox of a wallet hub. A row is sent or unsent. The table cannot mark a
// failed row, so it stays unsent. Rows are read in the order of their ids.
var walletHub = dialect{
	key: "id",
	columns: []column{
		{name: "id", types: []string{"bigint", "integer"}, notNull: true},
		{name: "event_type", types: texts},
		{name: "payload", types: payloads},
		{name: "correlation_id", types: texts},
		{name: "created_at", types: times},
		{name: "sent", types: []string{"boolean"}, notNull: true, written: true},
	},
	indexes: []neededIndex{
		{
			name: "idx_outbox_sent", columns: []string{"sent", "id"}, leading: 1,
			partialOn: "id", pending: []string{"NOT sent", "sent = false", "sent IS FALSE"},
		},
		{name: "idx_outbox_correlation_id", columns: []string{"correlation_id"}, leading: 1},
	},

	first: "-9223372036854775808",
	pending: `
		SELECT id::text AS key,
		       id::text AS cursor,
		       coalesce(event_type, '') AS event_type,
		       '' AS aggregate_type,
		       '' AS aggregate_id,
		       coalesce(correlation_id, '') AS correlation_id,
		       '' AS traceparent,
		       payload::text AS payload,
		       CASE WHEN ` + usableTime + ` THEN created_at::timestamptz END AS created_at
		FROM   {table}
		WHERE  sent = false
		AND    id > $1::text::bigint
		ORDER BY id
		LIMIT  $2`,
	still: `
		SELECT id::text
		FROM   {table}
		WHERE  id = ANY ($1::text[]::bigint[])
		AND    sent = false`,
	sent: `
		UPDATE {table}
		SET    sent = true
		WHERE  id = ANY ($1::text[]::bigint[])
		AND    sent = false`,
	state: `
		SELECT count(*) AS pending,
		       0 AS failed,
		       coalesce(greatest(clock_timestamp() - min(created_at) FILTER (WHERE ` + usableTime + `), '0'), '0') AS oldest
		FROM  (SELECT created_at
		       FROM   {table}
		       WHERE  sent = false
		       AND    id <> ALL ($2::text[]::bigint[])
		       ORDER BY id
		       LIMIT  $1) AS first`,
	// It checks the first sent rows by id. Ids follow time: if none of these rows is old, no
	// later row is.
	done: `
		SELECT id::text AS key,
		       id::text AS cursor
		FROM  (SELECT id, created_at
		       FROM   {table}
		       WHERE  sent
		       AND    created_at IS NOT NULL
		       AND    id > $1::text::bigint
		       ORDER BY id
		       LIMIT  $3) AS first
		WHERE  created_at < now() - $2::interval
		ORDER BY id`,
	deleteDone: `
		DELETE FROM {table}
		WHERE  id = ANY ($1::text[]::bigint[])
		AND    sent
		AND    created_at < now() - $2::interval`,
}
