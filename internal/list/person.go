package list

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/report"
)

// RecipientDecision is a decision about a person, an event and a channel, and its delivery.
type RecipientDecision struct {
	DecidedAt  time.Time             `json:"decided_at"`
	EventID    string                `json:"event_id"`
	EventType  string                `json:"event_type"` // empty: the event was purged
	Channel    notification.Channel  `json:"channel"`
	Decision   notification.Decision `json:"decision"`
	DeliveryID string                `json:"delivery_id"` // empty: none was planned, or it was purged
	Status     notification.Status   `json:"status"`      // of the delivery
	LastError  string                `json:"last_error"`
	SendAfter  *time.Time            `json:"send_after"`
	SentAt     *time.Time            `json:"sent_at"`
	Reason     string                `json:"reason"` // of the decision, or of the delivery's end

	ThrottledBy string `json:"throttled_by,omitempty"` // the delivery that they got instead
}

// RecipientFilter names a person. A zero Since, Channel or Before is no condition.
type RecipientFilter struct {
	notification.RecipientKey
	Since   time.Time // earliest time of the decision
	Channel notification.Channel
	Before  DecisionCursor // only the decisions after this one, in the order of the list
}

// DecisionCursor is the place of a decision in a person's list.
type DecisionCursor struct {
	DecidedAt time.Time
	EventID   string
	Channel   notification.Channel
}

var recipientDecisions = spec[RecipientDecision]{
	doing: "read decisions",
	columns: `
		d.decided_at, d.event_id, coalesce(n.event_type, o.event_type, '') AS event_type, c.channel, c.decision,
		coalesce(n.delivery_id, '') AS delivery_id, coalesce(n.status, '') AS status, coalesce(n.last_error, '') AS last_error,
		n.send_after, n.sent_at, coalesce(d.throttled_by ->> c.channel, '') AS throttled_by`,
	from: `notification_decision d
		CROSS JOIN LATERAL jsonb_each_text(d.channels) AS c (channel, decision)
		LEFT JOIN notification n ON (n.event_id, n.user_type, n.user_id, n.channel) = (d.event_id, d.user_type, d.user_id, c.channel)
		LEFT JOIN event_outbox o ON o.event_id = d.event_id`,
	order: order{by: "d.decided_at, d.event_id, c.channel", newestFirst: true},
}

// RecipientDecisions reads the decisions about a person, up to limit, newest first.
func (r Reader) RecipientDecisions(ctx context.Context, filter RecipientFilter, limit int) ([]RecipientDecision, error) {
	if err := report.CheckUserType(ctx, r.Pool, filter.UserType); err != nil {
		return nil, err
	}
	selected := slices.Concat(
		ofPerson("d", filter.RecipientKey),
		where("d.decided_at >= @since", filter.Since),
		where("c.channel = @channel", filter.Channel),
	)
	if before := filter.Before; !before.DecidedAt.IsZero() {
		selected = append(selected, condition{
			"d.decided_at <= @decided_at AND (d.decided_at, d.event_id, c.channel) < (@decided_at, @event_id, @before)",
			pgx.NamedArgs{"decided_at": before.DecidedAt, "event_id": before.EventID, "before": before.Channel},
		})
	}
	return recipientDecisions.read(ctx, r, selected, limit)
}

// Setting is a kind of preference.
type Setting string

// The settings of preference_change.
const (
	SettingEnabled    Setting = "ENABLED"
	SettingQuietHours Setting = "QUIET_HOURS"
	SettingPriority   Setting = "PRIORITY"
	SettingTimezone   Setting = "TIMEZONE"
	SettingDigestAt   Setting = "DIGEST_AT"
	SettingFollow     Setting = "FOLLOW"
	SettingMute       Setting = "MUTE"
)

// PreferenceChange is a row of preference_change.
type PreferenceChange struct {
	ID         int64
	At         time.Time
	Setting    Setting
	Channel    notification.Channel // empty: the setting holds for all
	Category   string               // empty: the setting holds for all
	EntityType string               // of FOLLOW and MUTE
	EntityID   string               // likewise
	OldValue   string               // empty: no quiet hours, the zone of the directory, the usual time of digests, not followed
	NewValue   string               // likewise
	ChangedBy  string               // inbox, link, unsubscribe link, a provider, or a role of the database
}

// PreferenceFilter selects changes of a recipient's preferences. A zero Channel or Before is no
// condition.
type PreferenceFilter struct {
	notification.RecipientKey
	Channel notification.Channel // also selects the settings that hold for all
	Before  int64                // only ids below this one
}

var preferenceChanges = spec[PreferenceChange]{
	doing: "read changes of preferences",
	columns: `
		p.id, p.at, p.setting, coalesce(p.channel, '') AS channel, coalesce(p.category, '') AS category,
		coalesce(p.entity_type, '') AS entity_type, coalesce(p.entity_id, '') AS entity_id,
		coalesce(p.old_value, '') AS old_value, coalesce(p.new_value, '') AS new_value, p.changed_by`,
	from:  "preference_change p",
	order: order{by: "p.id", newestFirst: true},
}

// PreferenceChanges reads the changes that the filter selects, up to limit, newest first.
func (r Reader) PreferenceChanges(ctx context.Context, filter PreferenceFilter, limit int) ([]PreferenceChange, error) {
	return preferenceChanges.read(ctx, r, slices.Concat(
		ofPerson("p", filter.RecipientKey),
		where("p.channel IS NULL OR p.channel = @channel", filter.Channel),
		where("p.id < @before", filter.Before),
	), limit)
}

// ofPerson selects a person's rows of a table.
func ofPerson(table string, who notification.RecipientKey) conditions {
	return conditions{{
		fmt.Sprintf("%[1]s.user_type = @user_type AND %[1]s.user_id = @user_id", table),
		pgx.NamedArgs{"user_type": who.UserType, "user_id": who.UserID},
	}}
}
