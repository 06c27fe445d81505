package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// queueRecipient reads the recipient, of their addresses only whether there are any.
func queueRecipient(batch *pgx.Batch, key DecisionKey, report *DecisionReport) {
	const query = `
		SELECT r.active,
		       coalesce(r.timezone, ''),
		       CASE WHEN r.email <> '' THEN $3 ELSE '' END,
		       CASE WHEN r.phone <> '' THEN $3 ELSE '' END,
		       CASE WHEN r.slack_webhook_url <> '' THEN $3 ELSE '' END,
		       EXISTS (
		           SELECT FROM recipient_device d
		           WHERE  d.user_type = r.user_type
		           AND    d.user_id = r.user_id
		           AND    d.active
		       )
		FROM   recipient r
		WHERE  r.user_type = $1
		AND    r.user_id = $2`

	batch.Queue(query, key.UserType, key.UserID, present).QueryRow(func(row pgx.Row) error {
		r := &report.Case.Recipient
		err := row.Scan(&report.Active, &r.Timezone, &r.Email, &r.Phone, &r.SlackWebhookURL, &r.HasDevice)
		report.Known = err == nil
		return ignoreNoRows(err)
	})
}

func queuePreference(batch *pgx.Batch, key DecisionKey, report *DecisionReport) {
	const query = `
		SELECT u.channel_type,
		       u.enabled,
		       CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
		           'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
		           'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END,
		       u.priority
		FROM   user_notification_preferences u
		WHERE  u.user_type = $1
		AND    u.user_id = $2
		AND    u.channel_type = $3`

	batch.Queue(query, key.UserType, key.UserID, key.Channel).QueryRow(func(row pgx.Row) error {
		var p notification.Preference
		err := row.Scan(&p.Channel, &p.Enabled, &p.QuietHours, &p.Priority)
		if err == nil {
			report.HasPreference = true
			report.Case.Recipient.Preferences = []notification.Preference{p}
		}
		return ignoreNoRows(err)
	})
}

// queueRoutes reads how the event's type is routed: there is a row per channel
// at most.
func queueRoutes(batch *pgx.Batch, key DecisionKey, report *DecisionReport) {
	const query = `
		SELECT r.channel_type AS channel,
		       r.mandatory,
		       r.delivery_strategy AS strategy,
		       (extract(epoch FROM r.delay) * 1e9)::bigint AS delay,
		       (extract(epoch FROM r.digest_window) * 1e9)::bigint AS digest_window,
		       r.quiet_hours_action,
		       coalesce(r.priority, '') AS priority
		FROM   event_type_channel_routing r
		WHERE  r.event_type = $1
		ORDER BY r.channel_type`

	batch.Queue(query, report.EventType).Query(func(rows pgx.Rows) error {
		routes, err := pgx.CollectRows(rows, pgx.RowToStructByName[notification.Routing])
		for _, route := range routes {
			report.Routed = append(report.Routed, route.Channel)
			if route.Channel == key.Channel {
				report.Case.Routing = &route
			}
		}
		return err
	})
}

func queueServed(batch *pgx.Batch, key DecisionKey, report *DecisionReport) {
	const query = `
		SELECT user_type
		FROM   channel_user_type
		WHERE  channel_type = $1
		ORDER BY user_type`

	batch.Queue(query, key.Channel).Query(func(rows pgx.Rows) (err error) {
		report.Case.Served, err = pgx.CollectRows(rows, pgx.RowTo[notification.UserType])
		return err
	})
}

// readEntity finds the entity through which the event reaches the recipient, by
// the rules as they are now, and reads its settings. Of an event whose row was
// purged it cannot be known.
func (s *Store) readEntity(ctx context.Context, key DecisionKey, report *DecisionReport) error {
	if report.Outbox == nil {
		return s.readSettings(ctx, report)
	}
	event, rules, err := s.Event(ctx, key.EventID)
	if err != nil {
		return err
	}
	targets, problems := notification.Targets(event, rules)
	memberships, err := s.memberships(ctx, key, targets)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		report.Unreached = problems
		return s.readSettings(ctx, report)
	}
	r := &report.Case.Recipient
	r.Entity, r.Role, report.Unreached = notification.Reach(targets, key.UserType, key.UserID, memberships)
	return s.readSettings(ctx, report)
}

// memberships reads those of a recipient in the entities that an event names.
func (s *Store) memberships(ctx context.Context, key DecisionKey, targets []notification.Target) ([]notification.Membership, error) {
	const query = `
		SELECT m.entity_type, m.entity_id, m.role, m.active
		FROM   entity_member m
		WHERE  m.user_type = $1
		AND    m.user_id = $2
		AND    (m.entity_type, m.entity_id) IN (SELECT t.entity_type, t.entity_id FROM jsonb_to_recordset($3) AS t (entity_type text, entity_id text))
		ORDER BY m.active DESC, (m.role = 'MANAGER') DESC
		LIMIT  $4`

	wanted, err := json.Marshal(targetRows(targets))
	if err != nil {
		return nil, fmt.Errorf("encode targets: %w", err)
	}
	rows, err := s.Pool.Query(ctx, query, key.UserType, key.UserID, wanted, maxRulesPerEventType)
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	memberships, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m notification.Membership, err error) {
		err = row.Scan(&m.Entity.Type, &m.Entity.ID, &m.Role, &m.Active)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return memberships, nil
}

// readSettings reads the rows of the recipient's entity for the channel; there
// are two at most.
func (s *Store) readSettings(ctx context.Context, report *DecisionReport) error {
	const query = `
		SELECT s.event_type IS NOT NULL, s.enabled, s.max_recipients, s.allowed_roles,
		       ` + groupQuietHours + `
		FROM   entity_notification_settings s
		WHERE  s.entity_type = $1
		AND    s.entity_id = $2
		AND    s.channel_type = $3
		AND    (s.event_type IS NULL OR s.event_type = $4)
		ORDER BY s.event_type NULLS LAST`

	entity := report.Case.Setting().Entity
	rows, err := s.Pool.Query(ctx, query, entity.Type, entity.ID, report.Case.Channel, report.EventType)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	report.Case.Settings, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (notification.Setting, error) {
		setting := notification.Setting{Entity: entity, Channel: report.Case.Channel}
		err := row.Scan(&setting.EventSpecific, &setting.Enabled, &setting.MaxRecipients, &setting.AllowedRoles, &setting.QuietHours, &setting.QuietTimezone)
		return setting, err
	})
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	return nil
}
