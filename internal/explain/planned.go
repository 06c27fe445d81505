package explain

import (
	"context"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
)

// planAgain is the result of planning one recipient and one channel of an event again, now.
type planAgain struct {
	facts  notification.Facts
	routed []notification.Channel // the channels of the event's type
	person notification.DirectoryEntry
	named  bool     // the event names the recipient, who is active
	reason []string // why the event does not name the recipient; empty: it does, or the reason is unknown

	decision notification.Decision // planning's decision; empty: planning skips the recipient or the channel
	instead  notification.Channel  // the channel that escalation uses at once, because this channel cannot reach the recipient; empty: none
}

// planAgain plans one recipient as planning does: with the same statements for the event's setup
// and recipients, and with the same rules. If the event's row was purged, only a delivery's row
// names the entity through which the event named the recipient.
func (e Explainer) planAgain(ctx context.Context, key report.DecisionKey, decided report.Decided, now time.Time) (planAgain, error) {
	setup, targets, problems, err := e.setup(ctx, key.EventID, decided)
	if err != nil {
		return planAgain{}, err
	}
	person, err := planner.On(e.Store).DirectoryEntry(ctx, key.UserType, key.UserID, targets)
	if err != nil {
		return planAgain{}, err
	}
	page, err := planner.On(e.Store).Named(ctx, decided.EventType, targets, key.UserType, key.UserID)
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
	if setup.Holders, err = e.addAmounts(ctx, setup, page.Recipients); err != nil {
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
		setup, err = planner.On(e.Store).TypeSetup(ctx, decided.EventType)
		setup.Event.Type = decided.EventType
		if decided.Entity.Type != "" {
			targets = []notification.Target{{Entity: decided.Entity}}
		}
		return setup, targets, nil, err
	}
	if setup, err = planner.On(e.Store).EventSetup(ctx, eventID); err == nil {
		setup.ReadPayload()
		targets, problems = notification.Targets(setup.Event, setup.Recipients)
	}
	return setup, targets, problems, err
}

// addAmounts reads the recipients' earlier messages that throttle windows and caps of the event type
// count, and returns who has the addresses that its routes compare.
func (e Explainer) addAmounts(ctx context.Context, setup notification.EventSetup, people []notification.Recipient) (notification.AddressHolders, error) {
	if len(setup.Caps) > 0 {
		if err := planner.On(e.Store).ReadCounted(ctx, setup.Caps, people); err != nil {
			return nil, err
		}
	}
	if keys := setup.ThrottleKeys(people); len(keys) > 0 {
		last, err := planner.On(e.Store).Throttles(ctx, setup.Event.Type, keys)
		if err != nil {
			return nil, err
		}
		notification.AddThrottles(people, last)
	}
	return planner.On(e.Store).AddressHolders(ctx, setup, people)
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

// countBefore reads up to countedPages pages of countedPage recipients.
const countedPages, countedPage = 20, 100

// countBefore decides about the recipients before one recipient, as planning does. It stops at this
// recipient, or as soon as the entity's limit is used up. It gives up after 2,000 recipients and
// sets Uncounted in the facts.
func (e Explainer) countBefore(ctx context.Context, setup notification.EventSetup, targets []notification.Target, facts *notification.Facts) (notification.Used, error) {
	me, used, counted := facts.Recipient, notification.Used{}, 0
	err := e.pages(ctx, setup, targets, countedPage, func(page notification.RecipientPage) (done bool, err error) {
		for _, r := range page.Recipients {
			*facts = setup.Facts(me, facts.Routing.Channel, facts.Now, used)
			settled := facts.AtCapacity() && !facts.Routing.OnEscalationOnly
			if settled || (r.UserType == me.UserType && r.UserID == me.UserID) {
				return true, nil
			}
			setup.Decide(r, facts.Now, used)
		}
		counted++
		facts.Uncounted = counted == countedPages && page.Next != nil
		return facts.Uncounted, nil
	})
	return used, err
}

// pages calls f for each page of an event's recipients, in planning's order, until f is done.
func (e Explainer) pages(ctx context.Context, setup notification.EventSetup, targets []notification.Target, size int, f func(notification.RecipientPage) (done bool, err error)) error {
	for after := (notification.Cursor{}); ; {
		page, err := planner.On(e.Store).Recipients(ctx, setup.Event.Type, targets, after, size)
		if err != nil {
			return err
		}
		if _, err := e.addAmounts(ctx, setup, page.Recipients); err != nil {
			return err
		}
		if done, err := f(page); done || err != nil || page.Next == nil {
			return err
		}
		after = *page.Next
	}
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
	Chosen          int                     `json:"recipients_chosen"` // selected recipients of the event for the channel, after [Explainer.CountChosen]
	HasAddress      bool                    `json:"has_address"`
	Address         string                  `json:"address"` // a description; never the address
	Timezone        string                  `json:"timezone"`
	QuietHours      string                  `json:"quiet_hours"`
	Quiet           bool                    `json:"quiet_now"`
	QuietUntil      *time.Time              `json:"quiet_until"`         // null during quiet hours: they do not end within 48 hours
	Findings        []notification.Finding  `json:"rules"`               // in the order of the rules: the first one that applies decides
	Uncounted       bool                    `json:"uncounted,omitempty"` // MAX_RECIPIENTS may apply: too many recipients come first to count them
	Decision        notification.Decision   `json:"decision_now"`        // empty: there would be no decision
	Instead         notification.Channel    `json:"instead,omitempty"`   // the channel that escalation uses at once, because this channel cannot reach the recipient
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
	OnEscalationOnly bool                          `json:"on_escalation_only"` // planning skips the channel, unless another channel cannot reach the recipient
	Roles            []string                      `json:"roles"`              // null: any role
	OncePerAddress   bool                          `json:"once_per_address"`
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

func (p planAgain) rules() RulesNow {
	f := p.facts
	rules := RulesNow{
		RecipientKnown: p.person.Known, RecipientActive: p.person.Active, Role: strings.Join(f.Recipient.Roles, ", "), Unreached: p.reason,
		RoutedChannels: p.routed, ServedUserTypes: f.Served, Category: f.Category, CategoryOff: f.CategoryOff(),
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
		rules.Routing = &RoutingNow{r.Mandatory, r.Strategy, r.Delay.String(), r.DigestWindow.String(), r.QuietHoursAction, r.Priority, r.SendAtPath, r.SendBefore.String(), r.SkipIfPast, r.ExpiresAfter.String(), r.OnEscalationOnly, r.Roles, r.OncePerAddress}
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
