package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// whyView is what `starter delivery why` prints.
type whyView struct {
	EventID       string                 `json:"event_id"`
	EventType     string                 `json:"event_type"`
	Outbox        *report.LeasedRow      `json:"outbox"`          // null: the row was purged
	Processed     *report.ProcessedRow   `json:"processed_event"` // null: it was not started yet
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
	Findings        []notification.Finding  `json:"rules"`        // what each rule finds, in their order: the first that applies decides
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

func newWhy(key report.DecisionKey, decided report.Decided, facts factsNow, delivery *report.DeliveryDetail) whyView {
	view := whyView{
		EventID: key.EventID, EventType: decided.EventType, Outbox: decided.Outbox, Processed: decided.Processed,
		Recipient: string(key.UserType) + "/" + key.UserID, Channel: key.Channel,
		Rules: newRules(decided, facts), Delivery: delivery,
	}
	if decided.Decisions != nil {
		view.DecidedAt = &decided.DecidedAt
		view.Decision = decided.Decisions[key.Channel]
	}
	if view.undecided() {
		view.Meaning = view.whyUndecided()
	} else {
		view.Meaning = view.Decision.Meaning(key.Channel, key.UserType)
	}
	return view
}

func newRules(decided report.Decided, f factsNow) rulesView {
	rules := rulesView{
		RecipientKnown: f.entry.Known, RecipientActive: f.entry.Active, Role: f.Recipient.Role, Unreached: f.unreached,
		RoutedChannels: f.routed, ServedUserTypes: f.Served, Chosen: decided.Chosen,
		HasAddress: f.Recipient.Reachable(f.Routing.Channel), Address: f.AddressWord(), Timezone: f.Recipient.Timezone,
		QuietHours: f.OwnQuietHours(), Quiet: f.Silence.Quiet, Findings: f.Findings(),
	}
	if f.Recipient.Entity.Type != "" {
		rules.Entity = f.Recipient.Entity.String()
	}
	if f.Setting.Entity.Type != "" {
		rules.SettingsOf = f.Setting.Entity.String()
	}
	if r := f.Routing; slices.Contains(f.routed, r.Channel) {
		rules.Routing = &routingView{r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority}
	}
	if p := f.Preference; f.HasPreference() {
		rules.Preference = &preferenceView{Enabled: p.Enabled, Priority: p.Priority}
		if p.QuietHours != nil {
			rules.Preference.QuietHours = p.QuietHours.String()
		}
	}
	for i, s := range f.Settings {
		setting := settingView{s.Entity.String(), s.EventSpecific, i == 0, s.Enabled, s.MaxRecipients, s.AllowedRoles, s.QuietText(f.Recipient.Timezone, f.Now)}
		rules.Settings = append(rules.Settings, setting)
	}
	if !f.Silence.Until.IsZero() {
		rules.QuietUntil = &f.Silence.Until
	}
	if f.decided() {
		rules.Decision = f.Decision()
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
