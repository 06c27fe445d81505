package explain

import (
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// RulesNow is what each rule finds now, and the rows that it looks at.
type RulesNow struct {
	RecipientKnown  bool                    `json:"recipient_known"`
	RecipientActive bool                    `json:"recipient_active"`
	Entity          string                  `json:"entity"` // through which the event reaches them; empty: see unreached
	Role            string                  `json:"role"`   // theirs in it; where there are several, with commas
	Unreached       []string                `json:"unreached,omitempty"`
	Routing         *RoutingNow             `json:"routing"` // null: not over this channel
	RoutedChannels  []notification.Channel  `json:"routed_channels"`
	ServedUserTypes []notification.UserType `json:"channel_serves"`
	Preference      *PreferenceNow          `json:"preference"`   // null: no row, which means on
	Category        string                  `json:"category"`     // of the event type; empty: none
	CategoryOff     bool                    `json:"category_off"` // the recipient has switched it off over the channel
	SettingsOf      string                  `json:"settings_of"`  // their entity, or that of all customers; empty: not known
	Settings        []SettingNow            `json:"settings"`
	Chosen          int                     `json:"recipients_chosen"` // of the event, for the channel
	HasAddress      bool                    `json:"has_address"`
	Address         string                  `json:"address"` // in words; never the address
	Timezone        string                  `json:"timezone"`
	QuietHours      string                  `json:"quiet_hours"`
	Quiet           bool                    `json:"quiet_now"`
	QuietUntil      *time.Time              `json:"quiet_until"`         // null although it is quiet: not within 48 hours
	Findings        []notification.Finding  `json:"rules"`               // of each rule, in their order: the first that applies decides
	Uncounted       bool                    `json:"uncounted,omitempty"` // MAX_RECIPIENTS may apply all the same: too many come before them to be counted
	Decision        notification.Decision   `json:"decision_now"`        // empty: there would be none
}

// RoutingNow is a row of event_type_channel_routing.
type RoutingNow struct {
	Mandatory        bool                          `json:"mandatory"`
	Strategy         notification.Strategy         `json:"delivery_strategy"`
	Delay            string                        `json:"delay"`
	DigestWindow     string                        `json:"digest_window"`
	QuietHoursAction notification.QuietHoursAction `json:"quiet_hours_action"`
	Priority         notification.Priority         `json:"priority"`     // empty: the recipient's
	SendAtPath       string                        `json:"send_at_path"` // empty: delay counts
	SendBefore       string                        `json:"send_before"`
	SkipIfPast       bool                          `json:"skip_if_past"`
	OnEscalationOnly bool                          `json:"on_escalation_only"` // planning leaves it out
}

// PreferenceNow is a row of user_notification_preferences.
type PreferenceNow struct {
	Enabled    bool                  `json:"enabled"`
	QuietHours string                `json:"quiet_hours"` // empty: off
	Priority   notification.Priority `json:"priority"`
}

// SettingNow is a row of entity_notification_settings.
type SettingNow struct {
	Entity        string   `json:"entity"`
	EventSpecific bool     `json:"event_specific"` // for the event's own type; else for every type
	Holds         bool     `json:"holds"`          // the other row is replaced by it
	Enabled       bool     `json:"enabled"`
	MaxRecipients *int     `json:"max_recipients"`
	AllowedRoles  []string `json:"allowed_roles"`
	QuietHours    string   `json:"quiet_hours"` // and what they mean now; empty: none
}

func (p planNow) rules(chosen int) RulesNow {
	f := p.facts
	rules := RulesNow{
		RecipientKnown: p.person.Known, RecipientActive: p.person.Active, Role: strings.Join(f.Recipient.Roles, ", "), Unreached: p.reason,
		RoutedChannels: p.routed, ServedUserTypes: f.Served, Chosen: chosen, Category: f.Category, CategoryOff: f.CategoryOff(),
		HasAddress: f.Recipient.Reachable(f.Routing.Channel), Address: f.AddressWord(), Timezone: f.Recipient.Timezone,
		QuietHours: f.OwnQuietHours(), Quiet: f.Silence.Quiet, Findings: f.Findings(), Uncounted: f.Uncounted, Decision: p.decision(),
	}
	if f.Recipient.Entity.Type != "" {
		rules.Entity = f.Recipient.Entity.String()
	}
	if f.Setting.Entity.Type != "" {
		rules.SettingsOf = f.Setting.Entity.String()
	}
	if r := f.Routing; slices.Contains(p.routed, r.Channel) {
		rules.Routing = &RoutingNow{r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority, r.SendAtPath, r.SendBefore.String(), r.SkipIfPast, r.OnEscalationOnly}
	}
	if f.HasPreference() {
		rules.Preference = &PreferenceNow{Enabled: f.Preference.Enabled, Priority: f.Preference.Priority}
		if f.Preference.QuietHours != nil {
			rules.Preference.QuietHours = f.Preference.QuietHours.String()
		}
	}
	for i, s := range f.Settings {
		rules.Settings = append(rules.Settings, SettingNow{
			s.Entity.String(), s.EventSpecific, i == 0, s.Enabled, s.MaxRecipients, s.AllowedRoles, s.QuietText(f.Recipient.Timezone, f.Now),
		})
	}
	if !f.Silence.Until.IsZero() {
		rules.QuietUntil = &f.Silence.Until
	}
	return rules
}
