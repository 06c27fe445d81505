package planner

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/suppression"
)

// Recipients reads the next page of up to limit recipients after `after`, in two round
// trips. It also reads their entities' settings for an event type. If several targets name
// a person, the person comes once, with the first target through which they hear most.
//
// An application's directory may hold rows that Herald's tables would refuse: an unknown
// user type, or an id that is too long for a workflow ID or not printable. The query skips
// such rows, and the first page reports them.
func (s Store) Recipients(
	ctx context.Context, eventType string, targets []notification.Target, after notification.Cursor, limit int,
) (notification.RecipientPage, error) {
	wanted := targetRows(targets)
	var page notification.RecipientPage
	batch := &pgx.Batch{}
	// The planner expects a hundred targets, and would spend a second on compiling a query
	// that takes milliseconds.
	batch.Queue("SELECT set_config('jit', 'off', true)")
	queueRecipients(batch, wanted, after, limit, &page)
	if after.UserID == "" {
		db.QueueInto(batch, &page.PassedOver, pgx.RowToStructByName, passedOverQuery, wanted, maxLookedAt, maxPassedOver)
	}
	db.QueueInto(batch, &page.Settings, pgx.RowTo, settingsQuery, eventType, wanted)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return page, db.Wrap(err, "read recipients")
	}
	people := make([]*notification.Recipient, len(page.Recipients))
	for i := range page.Recipients {
		people[i] = &page.Recipients[i]
	}
	return page, suppression.On(s.DB).ReadSuppressions(ctx, s.Pool, people)
}

// CountRecipients counts the recipients of targets, up to limit.
func (s Store) CountRecipients(ctx context.Context, targets []notification.Target, limit int) (int, error) {
	query := pageOfRecipients + `
	SELECT count(*) FROM page`

	var count int
	batch := &pgx.Batch{}
	batch.Queue("SELECT set_config('jit', 'off', true)")
	batch.Queue(query, recipientsArgs(targetRows(targets), notification.Cursor{}, limit-1)...).QueryRow(func(row pgx.Row) error {
		return row.Scan(&count)
	})
	return count, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "count recipients")
}

// namedPage is more than the user types that share one user id in most installations.
const namedPage = 20

// Named reads one recipient in the form of a page of recipients, with the same target and role.
// Recipients is empty if no target names them, or they are not active.
func (s Store) Named(
	ctx context.Context, eventType string, targets []notification.Target, userType notification.UserType, userID string,
) (notification.RecipientPage, error) {
	var page notification.RecipientPage
	for rank := range 2 { // they may be a manager, or not
		for after := (&notification.Cursor{Rank: rank, Number: userNumber(userID), UserID: userID}); after != nil &&
			after.UserID == userID; after = page.Next {
			var err error
			if page, err = s.Recipients(ctx, eventType, targets, *after, namedPage); err != nil {
				return notification.RecipientPage{}, err
			}
			found := slices.IndexFunc(page.Recipients, func(r notification.Recipient) bool { return r.UserType == userType && r.UserID == userID })
			if found >= 0 {
				return notification.RecipientPage{Recipients: page.Recipients[found : found+1], Settings: page.Settings}, nil
			}
		}
	}
	return notification.RecipientPage{Settings: page.Settings}, nil
}

// targetRow is the JSON form of a target for the database.
type targetRow struct {
	Ord        int                   `json:"ord"`
	UserType   notification.UserType `json:"user_type"`
	EntityType string                `json:"entity_type"`
	EntityID   string                `json:"entity_id"`
	Roles      []string              `json:"roles"`
}

func targetRows(targets []notification.Target) []targetRow {
	rows := make([]targetRow, 0, len(targets))
	for i, t := range targets {
		rows = append(rows, targetRow{i, t.UserType, t.Entity.Type, t.Entity.ID, t.Roles})
	}
	return rows
}

const (
	// number is a user id as a number, or the highest number if it is none. The indexes
	// recipient_in_order and entity_member_in_order have the same expressions.
	number = `CASE WHEN x.user_id ~ '^[0-9]{1,18}$' THEN x.user_id::bigint ELSE 9223372036854775807 END`
	// usableID reports whether Herald's own tables accept the user id.
	usableID = `octet_length(x.user_id) BETWEEN 1 AND 64 AND x.user_id !~ '[[:cntrl:]]'`
	// rank puts managers first.
	rank = `CASE x.role WHEN 'MANAGER' THEN 0 ELSE 1 END`
	// roleOrder puts the role through which a target names x first, after rank. A view may have several.
	roleOrder = `x.role = '` + notification.Follower + `', x.role NULLS LAST`
	// told reports whether the targets name followers of the entity of a row n.
	told = `EXISTS (
		               SELECT FROM target t
		               WHERE  t.entity_type = n.entity_type
		               AND    t.entity_id = n.entity_id
		               AND    t.user_type IN ('', n.user_type)
		               AND    '` + notification.Follower + `' = ANY (t.roles))`
)

// hasOtherRank reports whether one of the targets o that meet a condition names x with another rank than
// their own. Follows do not count. It looks up each membership by key, and none if the target cannot
// name anybody with the other rank.
func hasOtherRank(own, condition string) string {
	return `EXISTS (
		SELECT FROM target o
		WHERE  ` + condition + `
		AND    o.user_type IN ('', x.user_type)
		AND    CASE
		       WHEN o.entity_type = 'BROADCAST' THEN ` + own + ` = 0
		       WHEN o.entity_type = 'ADMIN' THEN ` + own + ` = 0 AND x.user_type = 'ADMIN'
		       WHEN o.entity_type = 'CUSTOMER' THEN ` + own + ` = 0 AND x.user_type = 'CUSTOMER' AND x.user_id = o.entity_id
		       WHEN ` + own + ` = 1 AND 'MANAGER' <> ALL (o.roles) THEN false
		       ELSE EXISTS (
		           SELECT FROM ` + db.DirectoryMember + ` b
		           WHERE  b.entity_type = o.entity_type
		           AND    b.entity_id = o.entity_id
		           AND    b.user_type = x.user_type
		           AND    b.user_id = x.user_id
		           AND    b.active
		           AND    (o.roles IS NULL OR b.role = ANY (o.roles))
		           AND    CASE b.role WHEN 'MANAGER' THEN 0 ELSE 1 END <> ` + own + `
		           OFFSET 0) END)`
}

// userNumber computes the SQL expression number.
func userNumber(userID string) int64 {
	number, err := strconv.ParseUint(userID, 10, 64)
	if err != nil || len(userID) > 18 {
		return math.MaxInt64
	}
	return int64(number)
}

// pageOfRecipients returns each recipient once, in the order of [notification.Cursor], up to one
// page. For each target it reads at most one page of rows, in the order of an index, after the
// cursor. So the last page costs as much as the first. Followers of an entity come through a target
// whose roles name FOLLOWER. OFFSET 0 keeps the planner from joining whole tables.
//
// The rank of a person is the rank of their best role in the first target that names them as a member, or as
// one of a kind of people. Someone who only follows has rank 1. Follows and mutes cannot change a rank:
// people change them between two pages, and nobody may move behind the cursor. The query leaves out rows
// with another rank, and the page drops repeats. Which target tells the person is another question; see
// through.
var pageOfRecipients = `
	WITH target AS (
		SELECT *
		FROM   jsonb_to_recordset($1) AS t (ord int, user_type text, entity_type text, entity_id text, roles text[])
	), named AS (
		SELECT t.entity_type, t.entity_id, m.*
		FROM   target t
		CROSS JOIN LATERAL (
		    SELECT DISTINCT ON (` + rank + `, ` + number + `, x.user_id, x.user_type)
		           ` + rank + ` AS rank, ` + number + ` AS number, x.user_id, x.user_type,
		           coalesce(min(x.role) FILTER (WHERE x.role <> '` + notification.Follower + `') OVER person, max(x.role) OVER person) AS role
		    FROM   ` + db.DirectoryMember + ` x
		    WHERE  x.entity_type = t.entity_type
		    AND    x.entity_id = t.entity_id
		    AND    x.active
		    AND    x.user_type = ANY (ARRAY (SELECT user_type FROM user_type))
		    AND    ` + usableID + `
		    AND    t.user_type IN ('', x.user_type)
		    AND    (t.roles IS NULL OR x.role = ANY (t.roles))
		    AND    (` + rank + `, ` + number + `, x.user_id, x.user_type) > ($2, $3, $4, $5)
		    AND    EXISTS (
		               SELECT FROM ` + db.DirectoryRecipient + ` r
		               WHERE  r.user_type = x.user_type
		               AND    r.user_id = x.user_id
		               AND    r.active
		               OFFSET 0)
		    AND    NOT ` + hasOtherRank(rank, "o.ord < t.ord + "+rank) + ` -- its own target may allow MANAGER too
		    WINDOW person AS (PARTITION BY ` + rank + `, ` + number + `, x.user_id, x.user_type) -- keeps the order of the index
		    ORDER BY ` + rank + `, ` + number + `, x.user_id, x.user_type
		    LIMIT  $6) m
		WHERE  t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		UNION ALL
		SELECT t.entity_type, t.entity_id, f.*
		FROM   target t
		CROSS JOIN LATERAL (
		    SELECT 1 AS rank, ` + number + ` AS number, x.user_id, x.user_type, '` + notification.Follower + `' AS role
		    FROM   entity_follow x
		    WHERE  x.entity_type || '' = t.entity_type -- as in entity_follow_in_order
		    AND    x.entity_id || '' = t.entity_id
		    AND    t.user_type IN ('', x.user_type)
		    AND    (` + number + `, x.user_id) >= ($7, $8) -- for the index (the next line is for the order)
		    AND    (1, ` + number + `, x.user_id, x.user_type) > ($2, $3, $4, $5)
		    AND    EXISTS (
		               SELECT FROM ` + db.DirectoryRecipient + ` r
		               WHERE  r.user_type = x.user_type
		               AND    r.user_id = x.user_id
		               AND    r.active
		               OFFSET 0)
		    AND    NOT ` + hasOtherRank("1", "true") + `
		    ORDER BY ` + number + `, x.user_id, x.user_type
		    LIMIT  $6) f
		WHERE  '` + notification.Follower + `' = ANY (t.roles)
		AND    t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		UNION ALL
		SELECT t.entity_type, t.entity_id, r.*
		FROM   target t
		JOIN   user_type u ON t.user_type IN ('', u.user_type)
		CROSS JOIN LATERAL (
		    SELECT DISTINCT ON (` + number + `, x.user_id)
		           1 AS rank, ` + number + ` AS number, x.user_id, x.user_type, NULL AS role
		    FROM   ` + db.DirectoryRecipient + ` x
		    WHERE  x.user_type = u.user_type
		    AND    x.active
		    AND    ` + usableID + `
		    AND    (` + number + `, x.user_id) >= ($7, $8) -- for the index (the next line is for the order)
		    AND    (1, ` + number + `, x.user_id, x.user_type) > ($2, $3, $4, $5)
		    AND    NOT ` + hasOtherRank("1", "o.ord < t.ord") + `
		    ORDER BY ` + number + `, x.user_id
		    LIMIT  $6) r
		WHERE  t.entity_type = 'BROADCAST'
		OR     (t.entity_type = 'ADMIN' AND u.user_type = 'ADMIN')
		UNION ALL
		SELECT t.entity_type, t.entity_id, r.*
		FROM   target t
		CROSS JOIN LATERAL (
		    SELECT 1 AS rank, ` + number + ` AS number, x.user_id, x.user_type, NULL AS role
		    FROM   ` + db.DirectoryRecipient + ` x
		    WHERE  x.user_type = 'CUSTOMER'
		    AND    x.user_type = ANY (ARRAY (SELECT user_type FROM user_type))
		    AND    x.user_id = t.entity_id
		    AND    ` + usableID + `
		    AND    x.active
		    AND    (1, ` + number + `, x.user_id, x.user_type) > ($2, $3, $4, $5)
		    AND    NOT ` + hasOtherRank("1", "o.ord < t.ord") + `
		    LIMIT  1) r
		WHERE  t.entity_type = 'CUSTOMER'
		AND    t.user_type IN ('', 'CUSTOMER')
	), page AS (
		SELECT DISTINCT ON (rank, number, user_id, user_type) *
		FROM   named x
		ORDER BY rank, number, user_id, user_type, ` + roleOrder + `
		LIMIT  $6
	)`

// through selects the row of the page p with the target through which the event tells the person: the first
// with the lowest level. At level 0 they are named directly or as a member, at 1 as a follower, at 2 as a
// follower who wants only important messages, and at 3 they have muted the entity.
const through = `(
		SELECT p.entity_type, p.entity_id, p.rank, p.number, p.user_id, p.user_type, p.role AS member_role
		WHERE  (SELECT count(*) FROM target) = 1
		UNION ALL
		(SELECT t.entity_type, t.entity_id, p.rank, p.number, p.user_id, p.user_type, x.role
		 FROM   target t
		 CROSS JOIN LATERAL (
		     SELECT NULL AS role, 0 AS level
		     WHERE  t.entity_type = 'BROADCAST'
		     OR     (t.entity_type = 'ADMIN' AND p.user_type = 'ADMIN')
		     OR     (t.entity_type = 'CUSTOMER' AND p.user_type = 'CUSTOMER' AND p.user_id = t.entity_id)
		     UNION ALL
		     SELECT b.role, 0
		     FROM   ` + db.DirectoryMember + ` b
		     WHERE  b.entity_type = t.entity_type
		     AND    b.entity_id = t.entity_id
		     AND    b.user_type = p.user_type
		     AND    b.user_id = p.user_id
		     AND    b.active
		     AND    (t.roles IS NULL OR b.role = ANY (t.roles))
		     AND    t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		     UNION ALL
		     SELECT '` + notification.Follower + `', CASE f.level WHEN 'IMPORTANT' THEN 2 ELSE 1 END
		     FROM   entity_follow f
		     WHERE  f.user_type = p.user_type
		     AND    f.user_id = p.user_id
		     AND    f.entity_type = t.entity_type
		     AND    f.entity_id = t.entity_id
		     AND    '` + notification.Follower + `' = ANY (t.roles)) x
		 WHERE  (SELECT count(*) FROM target) > 1
		 AND    t.user_type IN ('', p.user_type)
		 ORDER BY CASE WHEN EXISTS (
		              SELECT FROM entity_mute u
		              WHERE  u.user_type = p.user_type
		              AND    u.user_id = p.user_id
		              AND    u.entity_type = t.entity_type
		              AND    u.entity_id = t.entity_id) THEN 3 ELSE x.level END,
		          t.ord, ` + rank + `, ` + roleOrder + `
		 LIMIT  1))`

// recipientsQuery reads the details of one page.
var recipientsQuery = pageOfRecipients + `
	SELECT n.user_type, n.user_id, ` + RecipientFacts + `,
	       (SELECT jsonb_object_agg(u.user_type, u.who) FROM user_type u) ->> n.user_type AS who,
	       m.roles, coalesce(n.member_role, '') AS member_role, m.important_only, m.muted,
	       n.entity_type, n.entity_id, ` + db.EntityName + ` AS entity_name, n.rank, n.number
	FROM   page p
	CROSS JOIN LATERAL ` + through + ` n
	` + db.RecipientOf + `
	` + db.MembershipOf(told) + `
	ORDER BY n.rank, n.number, n.user_id, n.user_type`

func queueRecipients(batch *pgx.Batch, targets []targetRow, after notification.Cursor, limit int, page *notification.RecipientPage) {
	type row struct {
		notification.Recipient
		Rank   int
		Number int64
	}
	batch.Queue(recipientsQuery, recipientsArgs(targets, after, limit)...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, db.ByName[row]())
		for _, row := range found[:min(limit, len(found))] {
			page.Recipients = append(page.Recipients, row.Recipient)
		}
		if len(found) > limit {
			last := found[limit-1]
			page.Next = &notification.Cursor{Rank: last.Rank, Number: last.Number, UserID: last.UserID, UserType: last.UserType}
		}
		return err
	})
}

// recipientsArgs asks for one row more than limit, which tells whether there is a next
// page.
func recipientsArgs(targets []targetRow, after notification.Cursor, limit int) []any {
	number, userID := after.Number, after.UserID
	if after.Rank == 0 { // after a manager, or at the start: all others are still to come
		number, userID = -1, ""
	}
	if after.UserID == "" {
		after.Rank = -1
	}
	return []any{targets, after.Rank, after.Number, after.UserID, after.UserType, limit + 1, number, userID}
}

// maxLookedAt limits the people of one target that the query reads, and maxPassedOver the
// kinds of them that it names.
const maxLookedAt, maxPassedOver = 100_000, 5

// passedOverQuery counts the people that recipientsQuery skips. The constraints of Herald's
// own tables refuse such people, so it reads only a directory of other relations. For each
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
		     FROM   ` + db.DirectoryMember + ` m
		     WHERE  t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		     AND    m.entity_type = t.entity_type
		     AND    m.entity_id = t.entity_id
		     AND    m.active
		     AND    t.user_type IN ('', m.user_type)
		     AND    (t.roles IS NULL OR m.role = ANY (t.roles))
		     LIMIT  $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + db.DirectoryRecipient + ` r WHERE t.entity_type = 'BROADCAST' AND r.active
			AND t.user_type IN ('', r.user_type) LIMIT $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + db.DirectoryRecipient + ` r WHERE t.entity_type = 'ADMIN' AND r.active
			AND r.user_type = 'ADMIN' LIMIT $2)
		    UNION ALL
		    (SELECT r.user_type, r.user_id FROM ` + db.DirectoryRecipient + ` r WHERE t.entity_type = 'CUSTOMER' AND r.active
			AND (r.user_type, r.user_id) = ('CUSTOMER', t.entity_id) LIMIT 1)) x
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
