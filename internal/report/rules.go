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
		       CASE WHEN delivery_strategy = 'DELAYED' THEN delay WHEN delivery_strategy = 'AGGREGATE' AND digest_at IS NULL AND NOT digest_first
		           THEN digest_window ELSE '0' END AS wait,
		       coalesce(expires_after, '0') AS expires_after
		FROM   event_type_channel_routing
		ORDER BY event_type, channel_type
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read routing", pgx.RowToStructByName[Route], query, mostRules)
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
	query := `
		SELECT t.event_type, t.channel, t.locale, t.title, t.body, coalesce(t.url, '') AS url,
		       ` + db.LayoutFacts("t.event_type") + `
		FROM   notification_template t
		ORDER BY t.event_type, t.channel, t.locale
		LIMIT  $1`

	return db.Collect(ctx, r.Pool, "read templates", pgx.RowToStructByName[notification.Template], query, mostRules)
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

	return db.Collect(ctx, r.Pool, "read the last events", pgx.RowToStructByName[RecentType], query, since, mostRecentEvents, mostRecentTypes,
		eventsOfType, mostSourceEvents, sources)
}
