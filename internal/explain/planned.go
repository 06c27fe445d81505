package explain

import (
	"context"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// planAgain is planning's finding now about one recipient and one channel of
// an event.
type planAgain struct {
	facts  notification.Facts
	routed []notification.Channel // over which the event's type goes
	person notification.DirectoryEntry
	named  bool     // the event names them, and they are active
	reason []string // why the event does not name them; empty: it does, or that is not known

	decision notification.Decision // of planning; empty: it leaves out the recipient or the channel
	instead  notification.Channel  // that escalation uses at once, since this one cannot reach them; empty: none
}

// planAgain walks the way of planning to one recipient: the same statements read the
// event's setup and its recipients, and the same rules decide. Of an event whose row
// was purged only a delivery's row says through which entity it named somebody.
func (e Explainer) planAgain(ctx context.Context, key report.DecisionKey, decided report.Decided, now time.Time) (planAgain, error) {
	setup, targets, problems, err := e.setup(ctx, key.EventID, decided)
	if err != nil {
		return planAgain{}, err
	}
	person, err := e.Store.DirectoryEntry(ctx, key.UserType, key.UserID, targets)
	if err != nil {
		return planAgain{}, err
	}
	page, err := e.Store.Named(ctx, decided.EventType, targets, key.UserType, key.UserID)
	if err != nil {
		return planAgain{}, err
	}
	setup.Settings = page.Settings
	plan := planAgain{person: person, named: len(page.Recipients) > 0}
	for _, route := range setup.Routing {
		plan.routed = append(plan.routed, route.Channel)
	}
	if !plan.named {
		plan.facts = setup.Facts(person.Recipient, key.Channel, now, nil)
		if decided.Outbox != nil || len(targets) > 0 {
			plan.reason = notNamed(targets, problems, person)
		}
		return plan, nil
	}
	if err := e.addThrottles(ctx, setup, page.Recipients); err != nil {
		return plan, err
	}
	me, used := page.Recipients[0], notification.Used{}
	limited := func(channel notification.Channel) bool { return setup.Facts(me, channel, now, nil).Limited() }
	plan.facts = setup.Facts(me, key.Channel, now, used)
	if limited(key.Channel) || plan.facts.Routing.OnEscalationOnly && slices.ContainsFunc(plan.routed, limited) {
		if used, err = e.countBefore(ctx, setup, targets, &plan.facts); err != nil {
			return plan, err
		}
	}
	for _, choice := range setup.Decide(me, now, used.Clone()) {
		if choice.Channel == key.Channel {
			plan.decision = choice.Decision
			plan.instead, _ = setup.Instead(choice)
		}
	}
	return plan, nil
}

func (e Explainer) setup(ctx context.Context, eventID string, decided report.Decided) (setup notification.EventSetup, targets []notification.Target, problems []string, err error) {
	if decided.Outbox == nil {
		setup, err = e.Store.TypeSetup(ctx, decided.EventType)
		setup.Event.Type = decided.EventType
		if decided.Entity.Type != "" {
			targets = []notification.Target{{Entity: decided.Entity}}
		}
		return setup, targets, nil, err
	}
	if setup, err = e.Store.EventSetup(ctx, eventID); err == nil {
		setup.ReadPayload()
		targets, problems = notification.Targets(setup.Event, setup.Recipients)
	}
	return setup, targets, problems, err
}

// addThrottles reads the throttle windows of recipients, if a route of the event type has one.
func (e Explainer) addThrottles(ctx context.Context, setup notification.EventSetup, people []notification.Recipient) error {
	if !setup.Throttles() {
		return nil
	}
	return e.Store.ReadThrottles(ctx, setup.Event.Type, people)
}

func notNamed(targets []notification.Target, problems []string, person notification.DirectoryEntry) []string {
	if len(targets) == 0 {
		return problems
	}
	reasons := notification.NotNamed(targets, person)
	if person.Active && reasons == nil {
		return []string{"planning passes over ids that are empty, longer than 64 bytes or not printable"}
	}
	return reasons
}

// What counting the recipients before one may read.
const countedPages, countedPage = 20, 100

// countBefore decides about the recipients who come before one, as planning does,
// until it comes to them or as many are selected as their entity allows. It gives
// up after 2,000, and says so in the facts.
func (e Explainer) countBefore(ctx context.Context, setup notification.EventSetup, targets []notification.Target, facts *notification.Facts) (notification.Used, error) {
	me, used, after := facts.Recipient, notification.Used{}, notification.Cursor{}
	for range countedPages {
		page, err := e.Store.Recipients(ctx, setup.Event.Type, targets, after, countedPage)
		if err != nil {
			return used, err
		}
		if err := e.addThrottles(ctx, setup, page.Recipients); err != nil {
			return used, err
		}
		for _, r := range page.Recipients {
			*facts = setup.Facts(me, facts.Routing.Channel, facts.Now, used)
			settled := facts.AtCapacity() && !facts.Routing.OnEscalationOnly
			if settled || (r.UserType == me.UserType && r.UserID == me.UserID) {
				return used, nil
			}
			setup.Decide(r, facts.Now, used)
		}
		if page.Next == nil {
			return used, nil
		}
		after = *page.Next
	}
	facts.Uncounted = true
	return used, nil
}

// RulesNow holds each rule's finding now, and the rows that it looks at.
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
	SettingsOf      string                  `json:"settings_of"`  // their entity, or all customers'; empty: not known
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
	Instead         notification.Channel    `json:"instead,omitempty"`   // that escalation uses at once, since this one cannot reach them
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
	ExpiresAfter     string                        `json:"expires_after"`      // 0s: no limit
	OnEscalationOnly bool                          `json:"on_escalation_only"` // planning leaves it out, unless another channel cannot reach them
	Roles            []string                      `json:"roles"`              // null: any
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

func (p planAgain) rules(chosen int) RulesNow {
	f := p.facts
	rules := RulesNow{
		RecipientKnown: p.person.Known, RecipientActive: p.person.Active, Role: strings.Join(f.Recipient.Roles, ", "), Unreached: p.reason,
		RoutedChannels: p.routed, ServedUserTypes: f.Served, Chosen: chosen, Category: f.Category, CategoryOff: f.CategoryOff(),
		HasAddress: f.Recipient.Reachable(f.Routing.Channel), Address: f.AddressWord(), Timezone: f.Recipient.Timezone,
		QuietHours: f.OwnQuietHours(), Quiet: f.Silence.Quiet, Findings: f.Findings(), Uncounted: f.Uncounted, Decision: p.decision, Instead: p.instead,
	}
	if f.Recipient.Entity.Type != "" {
		rules.Entity = f.Recipient.Entity.String()
	}
	if f.Setting.Entity.Type != "" {
		rules.SettingsOf = f.Setting.Entity.String()
	}
	if r := f.Routing; slices.Contains(p.routed, r.Channel) {
		rules.Routing = &RoutingNow{r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority, r.SendAtPath, r.SendBefore.String(), r.SkipIfPast, r.ExpiresAfter.String(), r.OnEscalationOnly, r.Roles}
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
