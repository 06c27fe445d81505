package explain

import (
	"cmp"
	"context"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
)

// planAgain asks the planner about one recipient and one channel of an event again. If the event's row
// was purged, only a delivery's row names the entity through which the event named the recipient.
func (e Explainer) planAgain(ctx context.Context, key report.DecisionKey, decided report.Decided, now time.Time) (
	plan *planner.Plan, trace planner.Trace, err error,
) {
	if decided.Outbox != nil {
		plan, err = e.planner().Event(ctx, key.EventID)
	} else {
		plan, err = e.planner().Purged(ctx, decided.EventType, decided.Target())
	}
	if err == nil {
		trace, err = plan.Trace(ctx, notification.RecipientKey{UserType: key.UserType, UserID: key.UserID}, key.Channel, now)
	}
	return plan, trace, err
}

// plan reads the plan of the event with an id. An empty id means draft, which is not stored and is planned
// at a time; zero: now.
func (e Explainer) plan(ctx context.Context, id string, draft notification.Event, at time.Time) (*planner.Plan, error) {
	if id == "" {
		return e.planner().Draft(ctx, draft, at)
	}
	plan, err := e.planner().Event(ctx, id)
	plan.Now = cmp.Or(at, plan.Now)
	return plan, advice.NoEvent(id, err)
}

func (e Explainer) planner() planner.Planner { return planner.New(planner.On(e.DB), e.Texts) }

func notNamed(plan *planner.Plan, person notification.DirectoryEntry) []string {
	if len(plan.Targets) == 0 {
		return plan.Problems
	}
	reasons := notification.NotNamed(plan.Targets, person)
	if person.Active && reasons == nil {
		return []string{"planning passes over ids that are empty, longer than 64 bytes or not printable"}
	}
	return reasons
}

// RulesNow holds the current finding of each rule, and the rows that the rules read.
type RulesNow struct {
	RecipientKnown  bool                    `json:"recipient_known"`
	RecipientActive bool                    `json:"recipient_active"`
	Entity          string                  `json:"entity"` // the entity through which the event names the recipient; empty: see unreached
	Role            string                  `json:"role"`   // the recipient's role in the entity; several are separated by commas
	Unreached       []string                `json:"unreached,omitempty"`
	Routing         *RoutingNow             `json:"routing"` // null: the event's type does not use this channel
	RoutedChannels  []notification.Channel  `json:"routed_channels"`
	ServedUserTypes []notification.UserType `json:"channel_serves"`
	Preference      *PreferenceNow          `json:"preference"`   // null: there is no row, so the channel is on
	Category        string                  `json:"category"`     // of the event's type; empty: none
	CategoryOff     bool                    `json:"category_off"` // the recipient has switched off the category for the channel
	SettingsOf      string                  `json:"settings_of"`  // the recipient's entity, or the entity of all customers; empty: unknown
	Settings        []SettingNow            `json:"settings"`
	Chosen          int                     `json:"recipients_chosen"` // selected for the channel, after [Explainer.CountChosen]
	HasAddress      bool                    `json:"has_address"`
	Address         string                  `json:"address"` // a description; never the address
	Timezone        string                  `json:"timezone"`
	QuietHours      string                  `json:"quiet_hours"`
	Quiet           bool                    `json:"quiet_now"`
	QuietUntil      *time.Time              `json:"quiet_until"`         // null during quiet hours: they do not end within 48 hours
	Findings        []notification.Finding  `json:"rules"`               // in the order of the rules: the first one that applies decides
	Uncounted       bool                    `json:"uncounted,omitempty"` // MAX_RECIPIENTS may apply: too many come first to count them
	Decision        notification.Decision   `json:"decision_now"`        // empty: there would be no decision
	Instead         notification.Channel    `json:"instead,omitempty"`   // what escalation uses at once: this channel cannot reach them
}

// RoutingNow is a row of event_type_channel_routing.
type RoutingNow struct {
	Mandatory        bool                          `json:"mandatory"`
	Strategy         notification.Strategy         `json:"delivery_strategy"`
	Delay            string                        `json:"delay"`
	DigestWindow     string                        `json:"digest_window"`
	QuietHoursAction notification.QuietHoursAction `json:"quiet_hours_action"`
	Priority         notification.Priority         `json:"priority"`     // empty: the recipient's priority
	SendAtPath       string                        `json:"send_at_path"` // empty: delay counts
	SendBefore       string                        `json:"send_before"`
	SkipIfPast       bool                          `json:"skip_if_past"`
	ExpiresAfter     string                        `json:"expires_after"`      // 0s: no limit
	OnEscalationOnly bool                          `json:"on_escalation_only"` // planning skips it, unless another channel cannot reach them
	Roles            []string                      `json:"roles"`              // null: any role
	OncePerAddress   bool                          `json:"once_per_address"`
	TellActor        bool                          `json:"tell_actor"`
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
	EventSpecific bool     `json:"event_specific"` // for the event's type; false: for all types
	Holds         bool     `json:"holds"`          // this row counts, and not the other one
	Enabled       bool     `json:"enabled"`
	MaxRecipients *int     `json:"max_recipients"`
	AllowedRoles  []string `json:"allowed_roles"`
	QuietHours    string   `json:"quiet_hours"` // with their effect now; empty: none
}

func rulesNow(plan *planner.Plan, trace planner.Trace) RulesNow {
	f, person := trace.Facts, trace.Person
	rules := RulesNow{
		RecipientKnown: person.Known, RecipientActive: person.Active, Role: strings.Join(f.Recipient.Roles, ", "), ServedUserTypes: f.Served,
		Category: f.Category, CategoryOff: f.CategoryOff(), HasAddress: f.Recipient.Reachable(f.Routing.Channel), Address: f.AddressWord(),
		Timezone: f.Recipient.Timezone, QuietHours: f.OwnQuietHours(), Quiet: f.Silence.Quiet,
		Findings: f.Findings(), Uncounted: f.Uncounted, Decision: trace.Decision, Instead: trace.Instead,
	}
	if !trace.Named {
		rules.Unreached = notNamed(plan, person)
	}
	if f.Recipient.Entity.Type != "" {
		rules.Entity = f.Recipient.Entity.String()
	}
	if f.Setting.Entity.Type != "" {
		rules.SettingsOf = f.Setting.Entity.String()
	}
	for _, route := range plan.Routing {
		rules.RoutedChannels = append(rules.RoutedChannels, route.Channel)
		if r := f.Routing; r.Channel == route.Channel {
			rules.Routing = &RoutingNow{
				r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority, r.SendAtPath, r.SendBefore.String(),
				r.SkipIfPast, r.ExpiresAfter.String(), r.OnEscalationOnly, r.Roles, r.OncePerAddress, r.TellActor,
			}
		}
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
