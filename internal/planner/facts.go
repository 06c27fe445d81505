package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/suppression"
)

// These are the facts that the rules look at. Planning, the check before an attempt and the
// explanation of a delivery read each table by the same expressions. Add a column for a new
// rule here, and to the struct of the same name.
const (
	// RecipientFacts are the fields of a row r of recipient, without its key.
	RecipientFacts = `coalesce(r.name, '') AS name, ` + AddressFacts + `,
	       coalesce(r.locale, '') AS locale,
	       coalesce(r.timezone, '') AS timezone,
	       (
	           SELECT (extract(epoch FROM z.digest_at) * 1e9)::bigint
	           FROM   user_settings z
	           WHERE  z.user_type = r.user_type
	           AND    z.user_id = r.user_id
	       ) AS digest_at,
	       EXISTS (
	           SELECT FROM ` + db.DirectoryDevice + ` d
	           WHERE  d.user_type = r.user_type
	           AND    d.user_id = r.user_id
	           AND    d.active
	       ) AS has_device,
	       (
	           SELECT coalesce(jsonb_agg(` + preferenceFacts + `), '[]')
	           FROM   user_notification_preferences u
	           WHERE  u.user_type = r.user_type
	           AND    u.user_id = r.user_id
	       ) AS preferences,
	       (
	           SELECT jsonb_agg(jsonb_build_object('Category', o.category, 'Channel', o.channel_type))
	           FROM   user_category_preferences o
	           WHERE  o.user_type = r.user_type
	           AND    o.user_id = r.user_id
	           AND    NOT o.enabled
	       ) AS categories_off`
	// AddressFacts are the addresses of a row r of recipient.
	AddressFacts = `coalesce(r.email, '') AS email,
	       coalesce(r.phone, '') AS phone,
	       coalesce(r.slack_webhook_url, '') AS slack_webhook_url,
	       coalesce(r.webhook_url, '') AS webhook_url`
	// preferenceFacts is a row u of user_notification_preferences as a [notification.Preference].
	preferenceFacts = `jsonb_build_object(
	                   'Channel', u.channel_type,
	                   'Enabled', u.enabled,
	                   'QuietHours', CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
	                       'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
	                       'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END,
	                   'Priority', u.priority)`
	// SettingFacts is a row s of entity_notification_settings as a [notification.Setting].
	SettingFacts = `jsonb_build_object(
	           'Entity', jsonb_build_object('Type', s.entity_type, 'ID', s.entity_id),
	           'Channel', s.channel_type,
	           'EventSpecific', s.event_type IS NOT NULL,
	           'Enabled', s.enabled,
	           'MaxRecipients', s.max_recipients,
	           'AllowedRoles', s.allowed_roles,
	           'QuietHours', CASE WHEN s.quiet_hours_start IS NOT NULL THEN jsonb_build_object(
	               'Start', (extract(epoch FROM s.quiet_hours_start) * 1e9)::bigint,
	               'End', (extract(epoch FROM s.quiet_hours_end) * 1e9)::bigint) END,
	           'QuietTimezone', coalesce(s.quiet_hours_timezone, ''))`
	// RoutingFacts is a row e of event_type_channel_routing as a [notification.Routing].
	RoutingFacts = `jsonb_build_object(
	           'Channel', e.channel_type,
	           'Mandatory', e.mandatory,
	           'Strategy', e.delivery_strategy,
	           'Delay', (extract(epoch FROM e.delay) * 1e9)::bigint,
	           'DigestWindow', (extract(epoch FROM e.digest_window) * 1e9)::bigint,
	           'DigestFirst', e.digest_first,
	           'DigestAt', (extract(epoch FROM e.digest_at) * 1e9)::bigint,
	           'DigestDays', coalesce(e.digest_days, ''),
	           'QuietHoursAction', e.quiet_hours_action,
	           'Priority', coalesce(e.priority, ''),
	           'SendAtPath', coalesce(e.send_at_path, ''),
	           'SendBefore', jsonb_build_object(
	               'Months', extract(year FROM e.send_before) * 12 + extract(month FROM e.send_before),
	               'Days', extract(day FROM e.send_before),
	               'Rest', ((extract(hour FROM e.send_before) * 3600 + extract(minute FROM e.send_before) * 60 + extract(second
	                   FROM e.send_before)) * 1e9)::bigint),
	           'SkipIfPast', e.skip_if_past,
	           'ExpiresAfter', coalesce((extract(epoch FROM e.expires_after) * 1e9)::bigint, 0),
	           'ThrottleWindow', coalesce((extract(epoch FROM e.throttle_window) * 1e9)::bigint, 0),
	           'ThrottleKeyPath', coalesce(e.throttle_key_path, ''),
	           'OncePerAddress', coalesce(e.once_per_address, e.channel_type = 'SLACK'),
	           'OnEscalationOnly', e.on_escalation_only,
	           'TellActor', e.tell_actor,
	           'Roles', e.roles)`
)

// These expressions are the type of an event in a query.
const (
	typeOfEvent = `(SELECT event_type FROM event_outbox WHERE event_id = $1)`
	typeItself  = `$1`
)

// EventSetup reads an event and the configuration of its type, except the settings of
// entities, in one round trip. If the event does not exist, the error is
// [notification.ErrNoEvent].
func (s Store) EventSetup(ctx context.Context, eventID string) (notification.EventSetup, error) {
	var setup notification.EventSetup
	batch := &pgx.Batch{}
	queueEvent(batch, eventID, &setup.Event, &setup.Now)
	queueEventRecipients(batch, typeOfEvent, eventID, &setup.Recipients)
	queueRouting(batch, typeOfEvent, eventID, &setup)
	queueTemplates(batch, typeOfEvent, eventID, &setup.Templates)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return setup, db.Wrap(err, "read event and its setup")
}

// TypeSetup reads the configuration of an event type, even if it has no event.
func (s Store) TypeSetup(ctx context.Context, eventType string) (notification.EventSetup, error) {
	var setup notification.EventSetup
	batch := &pgx.Batch{}
	batch.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&setup.Now) })
	queueEventRecipients(batch, typeItself, eventType, &setup.Recipients)
	queueRouting(batch, typeItself, eventType, &setup)
	queueTemplates(batch, typeItself, eventType, &setup.Templates)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return setup, db.Wrap(err, "read setup of event type")
}

// Event reads an event and the rows that name its recipients. If the event does not exist,
// the error is [notification.ErrNoEvent].
func (s Store) Event(ctx context.Context, eventID string) (notification.Event, []notification.EventRecipients, error) {
	var event notification.Event
	var rules []notification.EventRecipients
	batch := &pgx.Batch{}
	queueEvent(batch, eventID, &event, new(time.Time))
	queueEventRecipients(batch, typeOfEvent, eventID, &rules)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return event, rules, db.Wrap(err, "read event")
}

func queueEvent(batch *pgx.Batch, eventID string, event *notification.Event, now *time.Time) {
	const query = `
		SELECT n.event_id AS id,
		       n.event_type AS type,
		       coalesce(n.aggregate_type, '') AS aggregate_type,
		       coalesce(n.aggregate_id, '') AS aggregate_id,
		       n.payload,
		       coalesce(n.correlation_id, '') AS correlation_id,
		       n.created_at,
		       n.expires_at,
		       coalesce(n.collapse_key, '') AS collapse_key,
		       coalesce(n.traceparent, '') AS traceparent,
		       n.acknowledged_at IS NOT NULL AS published,
		       coalesce(n.cancels, '') AS cancels,
		       coalesce(` + db.Canceller + `, '') AS cancelled_by,
		       coalesce((SELECT a.answer FROM event_approval a WHERE a.event_id = n.event_id), '') AS answer,
		       coalesce(n.actor_type, '') AS actor_user_type,
		       coalesce(n.actor_id, '') AS actor_user_id,
		       n.exclude,
		       clock_timestamp() AS now
		FROM   event_outbox n
		WHERE  n.event_id = $1`

	type row struct {
		notification.Event
		Now time.Time
	}
	batch.Queue(query, eventID).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectOneRow(rows, db.ByName[row]())
		*event, *now = found.Event, found.Now
		return db.NoRowsAs(err, notification.ErrNoEvent)
	})
}

func queueEventRecipients(batch *pgx.Batch, eventType, arg string, rules *[]notification.EventRecipients) {
	query := `
		SELECT coalesce(r.user_type, '') AS user_type,
		       coalesce(u.audience, '') AS audience,
		       r.entity_type,
		       coalesce(r.entity_id_path, '') AS entity_id_path,
		       r.roles
		FROM   event_type_recipients r
		LEFT JOIN user_type u ON u.user_type = r.user_type
		WHERE  r.event_type = ` + eventType + `
		ORDER BY r.id
		LIMIT  $2`

	db.QueueInto(batch, rules, pgx.RowToStructByName, query, arg, db.MaxRowsPerEventType)
}

// queueRouting reads the routes, escalations and category of an event type, and the user
// types that each channel may serve.
func queueRouting(batch *pgx.Batch, eventType string, arg string, setup *notification.EventSetup) {
	routing := `
		SELECT ` + RoutingFacts + `
		FROM   event_type_channel_routing e
		WHERE  e.event_type = ` + eventType + `
		ORDER BY e.channel_type`
	escalations := `
		SELECT ` + db.EscalationFacts + `
		FROM   event_type_escalation x
		WHERE  x.event_type = ` + eventType
	category := `
		SELECT coalesce((SELECT g.category FROM event_category g WHERE g.event_type = ` + eventType + `), ''),
		       (SELECT a.over FROM event_type_approval a WHERE a.event_type = ` + eventType + `)`
	caps := `
		SELECT ` + CapFacts + `
		FROM   frequency_cap f
		WHERE  f.channel_type IN (SELECT e.channel_type FROM event_type_channel_routing e WHERE e.event_type = ` + eventType + `)
		ORDER BY f.channel_type, f.category
		LIMIT  $2`
	const supported = `
		SELECT jsonb_object_agg(c.channel_type, c.user_types)
		FROM  (SELECT channel_type, jsonb_agg(user_type ORDER BY user_type) AS user_types
		       FROM   channel_user_type
		       GROUP BY channel_type) AS c`

	db.QueueInto(batch, &setup.Routing, pgx.RowTo, routing, arg)
	db.QueueInto(batch, &setup.Escalations, pgx.RowTo, escalations, arg)
	db.QueueInto(batch, (*[]notification.Cap)(&setup.Caps), pgx.RowTo, caps, arg, db.MaxRowsPerEventType)
	batch.Queue(category, arg).QueryRow(func(row pgx.Row) error { return row.Scan(&setup.Category, &setup.ApprovalOver) })
	batch.Queue(supported).QueryRow(func(row pgx.Row) error { return row.Scan(&setup.Supported) })
}

// queueTemplates reads the templates of an event type, of its escalations, and of every
// event type.
func queueTemplates(batch *pgx.Batch, eventType, arg string, templates *[]notification.Template) {
	query := `
		SELECT t.event_type, t.channel, t.locale, t.title, t.body, coalesce(t.url, '') AS url,
		       ` + db.LayoutFacts(eventType) + `
		FROM   notification_template t
		WHERE  t.event_type IN (` + eventType + `, ` + eventType + ` || '` + notification.EscalatedType("") + `', '*')
		LIMIT  $2`

	db.QueueInto(batch, templates, pgx.RowToStructByName, query, arg, db.MaxRowsPerEventType)
}

// settingsQuery reads the settings for an event type: of the entities that the targets $2 name, and
// of customers, who have no entity.
const settingsQuery = `
	SELECT ` + SettingFacts + `
	FROM   entity_notification_settings s
	WHERE  (s.event_type IS NULL OR s.event_type = $1)
	AND    ((s.entity_type, s.entity_id) = ('CUSTOMER', '0')
	    OR  (s.entity_type, s.entity_id) IN (SELECT t.entity_type, t.entity_id FROM jsonb_to_recordset($2)
	        AS t (entity_type text, entity_id text)))`

// DirectoryEntry reads one person, even if no event names them, with their memberships of
// the entities that the targets name.
func (s Store) DirectoryEntry(
	ctx context.Context, userType notification.UserType, userID string, targets []notification.Target,
) (notification.DirectoryEntry, error) {
	const person = `
		SELECT r.user_type, r.user_id, ` + RecipientFacts + `, coalesce(r.active, false) AS active
		FROM   ` + db.DirectoryRecipient + ` r
		WHERE  r.user_type = $1
		AND    r.user_id = $2
		LIMIT  1`
	const memberships = `
		SELECT jsonb_build_object('Entity', jsonb_build_object('Type', m.entity_type, 'ID', m.entity_id), 'Role', coalesce(m.role, ''), 'Active',
		       coalesce(m.active, false), 'Follows', m.follows)
		FROM  (SELECT *, false AS follows
		       FROM   ` + db.DirectoryMember + ` d
		       UNION ALL
		       SELECT entity_type, entity_id, user_type, user_id, '` + notification.Follower + `', true, true
		       FROM   entity_follow) m
		WHERE  m.user_type = $1
		AND    m.user_id = $2
		AND    (m.entity_type, m.entity_id) IN (SELECT t.entity_type, t.entity_id FROM jsonb_to_recordset($3)
		       AS t (entity_type text, entity_id text))
		ORDER BY m.role
		LIMIT  $4`

	entry := notification.DirectoryEntry{Recipient: notification.Recipient{UserType: userType, UserID: userID}}
	batch := &pgx.Batch{}
	type row struct {
		notification.Recipient
		Active bool
	}
	batch.Queue(person, userType, userID).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectOneRow(rows, db.ByName[row]())
		if err == nil {
			entry.Recipient, entry.Active, entry.Known = found.Recipient, found.Active, true
		}
		return db.IgnoreNoRows(err)
	})
	db.QueueInto(batch, &entry.Memberships, pgx.RowTo, memberships, userType, userID, targetRows(targets), db.MaxRowsPerEventType)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return entry, db.Wrap(err, "read directory")
	}
	return entry, suppression.On(s.DB).ReadSuppressions(ctx, s.Pool, []*notification.Recipient{&entry.Recipient})
}
