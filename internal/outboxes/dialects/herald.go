package dialects

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
