package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// mostRules limits the rows of a table of rules that are read at once. It is far above what
// a person would configure.
const mostRules = 2000

// Route is the key of a row of event_type_channel_routing, and the way to send.
type Route struct {
	EventType string
	Channel   notification.Channel
	Strategy  notification.Strategy

	OnEscalationOnly bool
	Mandatory        bool
	QuietHoursAction notification.QuietHoursAction
	Wait             time.Duration // the shortest time from an event to its delivery, as far as the row says
	ExpiresAfter     time.Duration // 0: no limit
}

// Routes reads the channels of each event type.
func (r Reader) Routes(ctx context.Context) ([]Route, error) {
	const query = `
		SELECT event_type, channel_type AS channel, delivery_strategy AS strategy, on_escalation_only, mandatory, quiet_hours_action,
		       CASE WHEN delivery_strategy = 'DELAYED' THEN delay WHEN delivery_strategy = 'AGGREGATE' AND digest_at IS NULL AND NOT digest_first THEN digest_window ELSE '0' END AS wait,
		       coalesce(expires_after, '0') AS expires_after
		FROM   event_type_channel_routing
		ORDER BY event_type, channel_type
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read routing", pgx.RowToStructByName[Route], query, mostRules)
}

// VainCap is a row of frequency_cap that limits nothing, or whose at_most limits nothing.
type VainCap struct {
	Channel   notification.Channel
	Category  string // empty: all messages
	IsUnknown bool   // no event type has the category
	IsUnmet   bool   // spacing allows fewer messages than at_most
}

// VainCaps reads the caps that limit nothing, or whose at_most limits nothing.
func (r Reader) VainCaps(ctx context.Context) ([]VainCap, error) {
	const query = `
		SELECT *
		FROM  (SELECT f.channel_type AS channel, coalesce(f.category, '') AS category,
		              f.category IS NOT NULL AND NOT EXISTS (SELECT FROM event_category g WHERE g.category = f.category) AS is_unknown,
		              coalesce(f.at_most * f.spacing > f.per, false) AS is_unmet
		       FROM   frequency_cap f
		       ORDER BY f.channel_type, f.category
		       LIMIT  $1) AS caps
		WHERE  is_unknown OR is_unmet`

	return db.Collect(ctx, r.Pool, "read caps", pgx.RowToStructByName[VainCap], query, mostRules)
}

// VainApprovals reads the event types that need approval although they have no routes.
func (r Reader) VainApprovals(ctx context.Context) ([]string, error) {
	const query = `
		SELECT a.event_type
		FROM   event_type_approval a
		WHERE  NOT EXISTS (SELECT FROM event_type_channel_routing e WHERE e.event_type = a.event_type)
		ORDER BY a.event_type
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read approvals", pgx.RowTo[string], query, mostRules)
}

// EscalationRule is a row of event_type_escalation, without its delay.
type EscalationRule struct {
	EventType string
	From, To  notification.Channel
	Until     notification.EscalationUntil
}

// Escalations reads the escalation rules.
func (r Reader) Escalations(ctx context.Context) ([]EscalationRule, error) {
	const query = `
		SELECT event_type, from_channel AS "from", to_channel AS "to", until
		FROM   event_type_escalation
		ORDER BY event_type, from_channel
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read escalations", pgx.RowToStructByName[EscalationRule], query, mostRules)
}

// ServingChannels returns the channels that serve any user type.
func (r Reader) ServingChannels(ctx context.Context) ([]notification.Channel, error) {
	const query = `
		SELECT DISTINCT channel_type
		FROM   channel_user_type
		ORDER BY channel_type`

	return db.Collect(ctx, r.Pool, "read the channels of a user type", pgx.RowTo[notification.Channel], query)
}

// Templates reads the templates.
func (r Reader) Templates(ctx context.Context) ([]notification.Template, error) {
	const query = `
		SELECT event_type, channel, locale, title, body, coalesce(url, '') AS url
		FROM   notification_template
		ORDER BY event_type, channel, locale
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read templates", pgx.RowToStructByName[notification.Template], query, mostRules)
}

// RecipientRule is a row of event_type_recipients.
type RecipientRule struct {
	EventType    string
	UserType     notification.UserType // empty: any
	EntityType   string
	EntityIDPath string   // empty: none
	Roles        []string // nil: any
}

// PathRule is a row of rules with a path into payloads.
type PathRule struct {
	Table, Column, Path string
	Row                 string // its key
}

// Paths reads all paths into payloads.
func (r Reader) Paths(ctx context.Context) ([]PathRule, error) {
	const query = `
		SELECT 'event_type_recipients' AS "table", 'entity_id_path' AS "column", entity_id_path AS path,
		       concat_ws('/', event_type, coalesce(user_type, 'any'), entity_type, entity_id_path) AS row
		FROM   event_type_recipients
		WHERE  entity_id_path IS NOT NULL
		UNION ALL
		SELECT 'event_type_channel_routing', 'send_at_path', send_at_path, event_type || '/' || channel_type
		FROM   event_type_channel_routing
		WHERE  send_at_path IS NOT NULL
		UNION ALL
		SELECT 'event_type_channel_routing', 'throttle_key_path', throttle_key_path, event_type || '/' || channel_type
		FROM   event_type_channel_routing
		WHERE  throttle_key_path IS NOT NULL
		ORDER BY 1 DESC, 4
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read paths", pgx.RowToStructByName[PathRule], query, mostRules)
}

// RulesOfNobody reads the rows of event_type_recipients that name nobody, whatever the
// event contains. Either no active member of such an entity fits, or a row for CUSTOMER or
// ADMIN has another user type.
func (r Reader) RulesOfNobody(ctx context.Context) ([]RecipientRule, error) {
	return r.recipientRules(ctx, "read rules without members", `CASE
		           WHEN e.entity_type IN ('CUSTOMER', 'ADMIN') THEN e.user_type <> e.entity_type
		           WHEN e.entity_type = 'BROADCAST' THEN false
		           ELSE NOT EXISTS (
		               SELECT FROM entity_member m
		               WHERE  m.entity_type::text = e.entity_type
		               AND    m.active::boolean
		               AND    (e.user_type IS NULL OR m.user_type::text = e.user_type)
		               AND    (e.roles IS NULL OR m.role::text = ANY (e.roles)))
		       END`)
}

// RulesOverNoChannel reads the rows of event_type_recipients whose event type has routes,
// but none over a channel that serves their user type.
func (r Reader) RulesOverNoChannel(ctx context.Context) ([]RecipientRule, error) {
	return r.recipientRules(ctx, "read rules without channels", `e.user_type IS NOT NULL
		AND    EXISTS (SELECT FROM event_type_channel_routing c WHERE c.event_type = e.event_type)
		AND    NOT EXISTS (
		           SELECT FROM event_type_channel_routing c
		           JOIN   channel_user_type s ON s.channel_type = c.channel_type
		           WHERE  c.event_type = e.event_type
		           AND    s.user_type = e.user_type)`)
}

// recipientRules reads the rows e of event_type_recipients that meet a condition.
func (r Reader) recipientRules(ctx context.Context, doing, condition string) ([]RecipientRule, error) {
	query := `
		SELECT e.event_type, coalesce(e.user_type, '') AS user_type, e.entity_type, coalesce(e.entity_id_path, '') AS entity_id_path, e.roles
		FROM   event_type_recipients e
		WHERE  ` + condition + `
		ORDER BY e.id
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, doing, pgx.RowToStructByName[RecipientRule], query, mostRules)
}

// RestrictedSetting is a row of entity_notification_settings with roles that nobody has.
type RestrictedSetting struct {
	EntityType, EntityID string
	Channel              notification.Channel
	EventType            string // empty: any
	Roles                []string
}

// SettingsOfNobody reads the settings of entities whose allowed_roles no active member of
// the entity has. Customers have no role.
func (r Reader) SettingsOfNobody(ctx context.Context) ([]RestrictedSetting, error) {
	const query = `
		SELECT s.entity_type,
		       s.entity_id,
		       s.channel_type AS channel,
		       coalesce(s.event_type, '') AS event_type,
		       s.allowed_roles AS roles
		FROM   entity_notification_settings s
		WHERE  s.enabled
		AND    cardinality(s.allowed_roles) > 0
		AND    NOT EXISTS (
		           SELECT FROM entity_member m
		           WHERE  m.entity_type::text = s.entity_type
		           AND    m.entity_id::text = s.entity_id
		           AND    m.active::boolean
		           AND    m.role::text = ANY (s.allowed_roles))
		ORDER BY s.entity_type, s.entity_id, s.channel_type, s.event_type
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read settings with roles that nobody has", pgx.RowToStructByName[RestrictedSetting], query, mostRules)
}

// RestrictedRoute is a row of event_type_channel_routing with roles that nobody has.
type RestrictedRoute struct {
	EventType string
	Channel   notification.Channel
	Vacant    []string // the roles that nobody has; empty: the row allows no role
}

// RoutesOfNobody reads the routes that allow no role, or a role that no active member of
// any entity has.
func (r Reader) RoutesOfNobody(ctx context.Context) ([]RestrictedRoute, error) {
	const query = `
		SELECT e.event_type, e.channel_type AS channel, v.vacant
		FROM   event_type_channel_routing e
		CROSS JOIN LATERAL (
			SELECT coalesce(array_agg(a.role), '{}') AS vacant
			FROM   unnest(e.roles) AS a (role)
			WHERE  NOT EXISTS (SELECT FROM entity_member m WHERE m.active::boolean AND m.role::text = a.role)
		) v
		WHERE  e.roles IS NOT NULL
		AND    (e.roles = '{}' OR v.vacant <> '{}')
		ORDER BY e.event_type, e.channel_type
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read routing for roles that nobody has", pgx.RowToStructByName[RestrictedRoute], query, mostRules)
}

// RecentType is a type of event with the ids of its last events, newest first.
type RecentType struct {
	EventType string
	EventIDs  []string
}

// These limits apply to the last events of all sources, and to the events of the requested
// sources. They also apply to their types, and to the last events of each type.
const (
	mostSourceEvents = 50_000
	mostRecentEvents = 5000
	mostRecentTypes  = 100
	eventsOfType     = 5
)

// RecentTypes reads the latest events of the sources within the last `since`, by type.
func (r Reader) RecentTypes(ctx context.Context, since time.Duration, sources []string) ([]RecentType, error) {
	const query = `
		WITH latest AS (
		    SELECT event_id, event_type, created_at, seq, source
		    FROM   event_outbox
		    WHERE  created_at >= now() - $1::interval
		    ORDER BY created_at DESC, seq DESC
		    LIMIT  $5
		), recent AS (
		    SELECT event_id, event_type, created_at, seq
		    FROM   latest
		    WHERE  source = ANY ($6)
		    ORDER BY created_at DESC, seq DESC
		    LIMIT  $2
		), numbered AS (
		    SELECT *, row_number() OVER (PARTITION BY event_type ORDER BY created_at DESC, seq DESC) AS n
		    FROM   recent
		)
		SELECT event_type, array_agg(event_id ORDER BY created_at DESC, seq DESC) AS event_ids
		FROM   numbered
		WHERE  n <= $4
		GROUP BY event_type
		ORDER BY max(created_at) DESC, max(seq) DESC
		LIMIT  $3`

	return db.Collect(ctx, r.Pool, "read the last events", pgx.RowToStructByName[RecentType], query, since, mostRecentEvents, mostRecentTypes, eventsOfType, mostSourceEvents, sources)
}
