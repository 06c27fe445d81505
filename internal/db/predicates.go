package db

import (
	"herald/internal/notification"
)

// Canceller is the id of the event that cancels the event of the row n; null: none does. n has the
// type of its event: who may write only some types cancels only these.
// The order makes the planner use the index, whatever its statistics say: the column is
// always null in most installations.
const Canceller = `(SELECT y.event_id FROM event_outbox y WHERE y.cancels = n.event_id
	AND (y.cancels_types IS NULL OR n.event_type = ANY (y.cancels_types)) ORDER BY y.seq LIMIT 1)`

// Withdrawal is the reason to send nothing more of the row n: another event cancels its event, or
// has replaced it. Null: neither.
const Withdrawal = `coalesce('` + notification.CancelledByEvent + `' || ` + Canceller + `, '` + notification.ReplacedByEvent +
	`' || n.replaced_by)`

// Retried reports whether an operator retries the delivery n, or has retried it. It only makes
// other senders skip deliveries that a retry will send. The lease keeps two senders apart.
const Retried = `EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)`

// MaxDevices limits the devices of one person that a gateway keeps, and that a push goes
// to. The newest count.
const MaxDevices = 50

// escalationOf joins the escalation of a delivery n, if a row of event_type_escalation
// applied at planning and still exists. escalationFacts is that row as a
// [notification.Escalation].
const (
	EscalationOf    = `LEFT JOIN event_type_escalation x ON n.escalates AND x.event_type = n.event_type AND x.from_channel = n.channel`
	EscalationFacts = `CASE WHEN x.to_channel IS NOT NULL THEN jsonb_build_object(
	           'From', x.from_channel,
	           'To', x.to_channel,
	           'After', (extract(epoch FROM x.after) * 1e9)::bigint,
	           'Until', x.until,
	           'IfUnreachable', x.if_unreachable) END`
)

// LaneKind is the kind of a delivery, as in [notification.Delivery.Waits]; the index
// notification_to_deliver has the same expression.
const LaneKind = `CASE WHEN n.send_after IS NULL AND n.strategy <> 'AGGREGATE' AND NOT n.escalates THEN 'NOW' ELSE 'LATER' END`

// Undelivered selects the rows of that index. A FAILED delivery may be tried again. If
// the event's workflow was lost, a delivery may still need its escalation.
const Undelivered = `(n.status IN ('PENDING', 'FAILED') OR n.escalates)`

// Waits reports whether the delivery n waits for its time. The wait ends when the delivery expires,
// at the latest.
const Waits = `coalesce(greatest(n.send_after, n.next_attempt_at) > now() AND coalesce(n.expires_at > now(), true), false)`

// ErasedText replaces the provider's words in a delivery, which needs a reason if it failed.
const ErasedText = "erased"

// NotUnproduced keeps an event of Herald's own outbox until its topic has it. If the outbox has
// lost its topic, source_start still shows where these events begin.
const NotUnproduced = `(t.source <> 'herald' OR t.produced_at IS NOT NULL
	OR t.seq <= coalesce((SELECT seq FROM source_start WHERE source = 'herald'), 9223372036854775807))`

const (
	// RecipientOf joins the recipient r of a row n. A view has no key, so it may have a
	// person twice; then either row counts.
	RecipientOf = `LEFT JOIN LATERAL (
		    SELECT *
		    FROM   ` + DirectoryRecipient + ` d
		    WHERE  d.user_type = n.user_type
		    AND    d.user_id = n.user_id
		    LIMIT  1
		) r ON true`
	// Erased reports whether the recipient of a row n is a person of erased_recipient.
	Erased = `EXISTS (SELECT FROM erased_recipient e WHERE e.user_type = n.user_type AND e.user_id = n.user_id)`
)

// EntityName reads the name of the entity of a row n. A view may have an entity twice; then either row
// counts.
const EntityName = `coalesce((
		    SELECT y.name
		    FROM   ` + DirectoryEntityName + ` y
		    WHERE  y.entity_type = n.entity_type
		    AND    y.entity_id = n.entity_id
		    LIMIT  1
		), '')`

// MembershipOf joins the membership of a row n's recipient in n's entity: whether it is active, the
// roles, whether the recipient hears only what is important, and whether they have muted the entity. A
// view may have several rows of a member. A person who follows the entity has the role FOLLOWER, if the
// condition told holds: the event tells followers of n's entity. If an event names a person as a follower,
// and the person no longer follows, the person is no member.
func MembershipOf(told string) string {
	const counts = `n.member_role IS DISTINCT FROM '` + notification.Follower + `' OR d.role = '` + notification.Follower + `'`
	return `CROSS JOIN LATERAL (
		    SELECT count(*) FILTER (WHERE ` + counts + `) > 0 AS active,
		           array_agg(DISTINCT d.role) FILTER (WHERE d.role <> '') AS roles,
		           coalesce(bool_and(d.level = 'IMPORTANT') FILTER (WHERE ` + counts + `), false) AS important_only,
		           EXISTS (
		               SELECT FROM entity_mute u
		               WHERE  u.user_type = n.user_type
		               AND    u.user_id = n.user_id
		               AND    u.entity_type = n.entity_type
		               AND    u.entity_id = n.entity_id
		           ) AS muted
		    FROM  (SELECT d.role, 'ALL' AS level
		           FROM   ` + DirectoryMember + ` d
		           WHERE  d.entity_type = n.entity_type
		           AND    d.entity_id = n.entity_id
		           AND    d.user_type = n.user_type
		           AND    d.user_id = n.user_id
		           AND    d.active
		           AND    n.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		           UNION ALL
		           SELECT '` + notification.Follower + `', f.level
		           FROM   entity_follow f
		           WHERE  f.user_type = n.user_type
		           AND    f.user_id = n.user_id
		           AND    f.entity_type = n.entity_type
		           AND    f.entity_id = n.entity_id
		           AND    ` + told + `) d
		) m`
}
