package postgres

// maxLookedAt limits the people of one target that the query reads, and maxPassedOver the
// kinds of them that it names.
const maxLookedAt, maxPassedOver = 100_000, 5

// passedOverQuery counts the people that recipientsQuery skips. The constraints of Herald's
// own tables refuse such people, so it only reads a directory of other relations. For each
// target it reads a limited number of rows, in no order.
const passedOverQuery = `
	WITH target AS (
		SELECT *
		FROM   jsonb_to_recordset($1) AS t (user_type text, entity_type text, entity_id text, roles text[])
		WHERE  EXISTS (SELECT FROM pg_class WHERE oid IN (to_regclass('recipient'), to_regclass('entity_member')) AND relkind <> 'r')
	), looked_at AS (
		SELECT t.entity_type, t.entity_id, x.*
		FROM   target t
		CROSS JOIN LATERAL (
		    (SELECT m.user_type, m.user_id
		     FROM   ` + directoryMember + ` m
		     WHERE  t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		     AND    m.entity_type = t.entity_type
		     AND    m.entity_id = t.entity_id
		     AND    m.active
		     AND    t.user_type IN ('', m.user_type)
		     AND    (t.roles IS NULL OR m.role = ANY (t.roles))
		     LIMIT  $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + directoryRecipient + ` r WHERE t.entity_type = 'BROADCAST' AND r.active AND t.user_type IN ('', r.user_type) LIMIT $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + directoryRecipient + ` r WHERE t.entity_type = 'ADMIN' AND r.active AND r.user_type = 'ADMIN' LIMIT $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + directoryRecipient + ` r WHERE t.entity_type = 'CUSTOMER' AND r.active AND (r.user_type, r.user_id) = ('CUSTOMER', t.entity_id) LIMIT 1)) x
	)
	SELECT jsonb_build_object('Type', entity_type, 'ID', entity_id) AS entity,
	       coalesce(x.user_type, '') AS user_type,
	       u.user_type IS NOT NULL AS known,
	       count(*) AS count
	FROM   looked_at x
	LEFT JOIN user_type u ON u.user_type = x.user_type
	WHERE  u.user_type IS NULL
	OR     (` + usableID + `) IS NOT TRUE
	GROUP BY entity_type, entity_id, x.user_type, u.user_type
	ORDER BY count(*) DESC, x.user_type
	LIMIT  $3`
