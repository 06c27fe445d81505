package main

import (
	"fmt"
	"strings"
	"time"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// whyView is what `starter delivery why` prints.
type whyView struct {
	EventID       string                 `json:"event_id"`
	EventType     string                 `json:"event_type"`
	Outbox        *postgres.OutboxRow    `json:"outbox"`          // null: the row was purged
	Processed     *postgres.ProcessedRow `json:"processed_event"` // null: it was not started yet
	Recipient     string                 `json:"recipient"`
	Channel       notification.Channel   `json:"channel"`
	Decision      notification.Decision  `json:"decision"` // empty: none was taken
	DecidedAt     *time.Time             `json:"decided_at"`
	Meaning       string                 `json:"meaning"` // of the decision, or why there is none
	Rules         rulesView              `json:"rules_now"`
	Delivery      *report.DeliveryDetail `json:"delivery"`                 // null: none was planned
	Workflow      *explain.Sending       `json:"workflow,omitempty"`       // of the delivery
	EventWorkflow *explain.Execution     `json:"event_workflow,omitempty"` // where nothing was decided
	Next          string                 `json:"next"`
}

// rulesView is the rows that decide, as they are now.
type rulesView struct {
	RecipientKnown  bool                    `json:"recipient_known"`
	RecipientActive bool                    `json:"recipient_active"`
	Entity          string                  `json:"entity"` // through which the event reaches them; empty: see unreached
	Role            string                  `json:"role"`
	Unreached       []string                `json:"unreached,omitempty"`
	Routing         *routingView            `json:"routing"` // null: not over this channel
	RoutedChannels  []notification.Channel  `json:"routed_channels"`
	ServedUserTypes []notification.UserType `json:"channel_serves"`
	Preference      *preferenceView         `json:"preference"`  // null: no row, which means on
	SettingsOf      string                  `json:"settings_of"` // their entity, or that of all customers; empty: not known
	Settings        []settingView           `json:"settings"`
	Chosen          int                     `json:"recipients_chosen"` // of the event, for the channel
	HasAddress      bool                    `json:"has_address"`
	Address         string                  `json:"address"` // in words; never the address
	Timezone        string                  `json:"timezone"`
	QuietHours      string                  `json:"quiet_hours"`
	Quiet           bool                    `json:"quiet_now"`
	QuietUntil      *time.Time              `json:"quiet_until"`  // null although it is quiet: not within 48 hours
	Decision        notification.Decision   `json:"decision_now"` // empty: there would be none
}

type routingView struct {
	Mandatory        bool                          `json:"mandatory"`
	Strategy         notification.Strategy         `json:"delivery_strategy"`
	Delay            string                        `json:"delay"`
	DigestWindow     string                        `json:"digest_window"`
	QuietHoursAction notification.QuietHoursAction `json:"quiet_hours_action"`
	Priority         notification.Priority         `json:"priority"` // empty: the recipient's
}

type preferenceView struct {
	Enabled    bool                  `json:"enabled"`
	QuietHours string                `json:"quiet_hours"` // empty: off
	Priority   notification.Priority `json:"priority"`
}

type settingView struct {
	Entity        string   `json:"entity"`
	EventSpecific bool     `json:"event_specific"` // for the event's own type; else for every type
	Holds         bool     `json:"holds"`          // the other row is beaten by it
	Enabled       bool     `json:"enabled"`
	MaxRecipients *int     `json:"max_recipients"`
	AllowedRoles  []string `json:"allowed_roles"`
	QuietHours    string   `json:"quiet_hours"` // and what they mean now; empty: none
}

func newWhy(key postgres.DecisionKey, report postgres.DecisionReport, delivery *report.DeliveryDetail, now time.Time) whyView {
	view := whyView{
		EventID: key.EventID, EventType: report.EventType, Outbox: report.Outbox, Processed: report.Processed,
		Recipient: string(key.UserType) + "/" + key.UserID, Channel: key.Channel,
		Rules: newRules(report, now), Delivery: delivery,
	}
	if report.Decisions != nil {
		view.DecidedAt = &report.DecidedAt
		view.Decision = report.Decisions[key.Channel]
	}
	if view.undecided() {
		view.Meaning = view.whyUndecided()
	} else {
		view.Meaning = view.Decision.Meaning(key.Channel, key.UserType)
	}
	return view
}

func newRules(report postgres.DecisionReport, now time.Time) rulesView {
	c := report.Case
	rules := rulesView{
		RecipientKnown: report.Known, RecipientActive: report.Active, Role: c.Recipient.Role, Unreached: report.Unreached,
		RoutedChannels: report.Routed, ServedUserTypes: c.Served, Chosen: report.Chosen,
		HasAddress: c.Reachable(), Address: c.AddressWord(), Timezone: c.Recipient.Timezone,
		QuietHours: notification.QuietText(c.Preference(), c.Recipient.Timezone, now),
	}
	if c.Recipient.Entity.Type != "" {
		rules.Entity = c.Recipient.Entity.String()
	}
	if entity := c.Setting().Entity; entity.Type != "" {
		rules.SettingsOf = entity.String()
	}
	if r := c.Routing; r != nil {
		rules.Routing = &routingView{r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority}
	}
	if p := c.Preference(); report.HasPreference {
		rules.Preference = &preferenceView{Enabled: p.Enabled, Priority: p.Priority}
		if p.QuietHours != nil {
			rules.Preference.QuietHours = p.QuietHours.String()
		}
	}
	for i, s := range c.Settings { // the event's own row comes first
		setting := settingView{s.Entity.String(), s.EventSpecific, i == 0, s.Enabled, s.MaxRecipients, s.AllowedRoles, ""}
		if s.QuietHours != nil {
			setting.QuietHours = notification.GroupQuietText(s, c.Recipient.Timezone, now)
		}
		rules.Settings = append(rules.Settings, setting)
	}
	silence := notification.Quiet(c.Preference(), c.Recipient.Timezone, now, c.Setting())
	rules.Quiet = silence.Quiet
	if !silence.Until.IsZero() {
		rules.QuietUntil = &silence.Until
	}
	if report.Known && report.Active && len(report.Unreached) == 0 && rules.SettingsOf != "" {
		rules.Decision = c.Judge(now).Decision
	}
	return rules
}

func (v whyView) undecided() bool { return v.Decision == "" }

// whyUndecided says why nothing was decided about the recipient and the channel,
// as far as can be told from what is there now.
func (v whyView) whyUndecided() string {
	r := v.Rules
	switch {
	case v.DecidedAt != nil:
		return fmt.Sprintf("nothing was decided about %s: the event's type was not routed over it when the event was planned", v.Channel)
	case v.Outbox != nil && v.Outbox.Status == "PENDING":
		return "nothing was decided yet: the event waits in the outbox to be started"
	case v.Outbox != nil && v.Outbox.Status == "FAILED":
		return "nothing was decided: the event could not be started: " + v.Outbox.ErrorMessage
	case len(r.RoutedChannels) == 0:
		return "nothing was decided about anybody: the event's type has no rows in event_type_channel_routing"
	case !r.RecipientKnown:
		return "nothing was decided about them: they are not in the directory (recipient)"
	case !r.RecipientActive:
		return "nothing was decided about them: they are not active (recipient)"
	case len(r.Unreached) > 0:
		return "nothing was decided about them, since the event does not name them: " + strings.Join(r.Unreached, "; ")
	case v.Processed != nil && v.Processed.Status == "PROCESSING":
		return "nothing was decided about them yet: the event is being planned"
	case v.Processed != nil && v.Processed.Status == "FAILED":
		return "nothing was decided about them: the event was cancelled, or could not be planned, before it came to them"
	default:
		return "nothing was decided about them when the event was planned; by the rows as they are now it would name them"
	}
}
