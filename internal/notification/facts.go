package notification

import (
	"cmp"
	"slices"
	"time"
)

// Facts holds the input of the rules about one recipient and one channel of an event, at one
// moment.
type Facts struct {
	Now        time.Time
	DeliveryID string // that the event plans; empty: the event was purged
	Recipient  Recipient
	Routing    Routing    // of the event's type over the channel
	Served     []UserType // the user types that the channel may serve
	Preference Preference // the recipient's for the channel, or the default
	Settings   []Setting  // their entity's rows for the channel, at most two; first the row for the event type, which wins
	Category   string     // of the event's type; empty: none
	Setting    Setting    // the first of Settings, or the default
	Silence    Silence    // the quiet hours now; zero if the delivery is due at a future time
	ExpiresAt  time.Time  // no delivery is sent from this time on; zero: never
	Selected   int        // the entity's recipients already selected for the channel
	Uncounted  bool       // Selected may be too low
	Caps       Caps       // of the channel

	Acted    bool // the recipient caused the event
	Direct   bool // with Acted: the event names them as a customer
	Excluded bool // the event excludes them

	SameAddress RecipientKey // who gets the message at the recipient's address instead; zero: nobody, or the route does not compare addresses
}

// Facts collects the input of the rules. A channel without a routing row counts as optional.
func (s EventSetup) Facts(recipient Recipient, channel Channel, now time.Time, used Used) Facts {
	route, _ := s.Route(channel)
	return s.facts(recipient, route, now, used)
}

func (s EventSetup) facts(recipient Recipient, route Routing, now time.Time, used Used) Facts {
	f := Facts{
		Now: now, Recipient: recipient, Routing: route, Served: s.Supported[route.Channel], Preference: recipient.Preference(route.Channel),
		Category: s.Category,
	}
	f.Settings = s.settingsOf(recipient.SettingsOf(), route.Channel)
	f.Setting = Setting{Entity: recipient.SettingsOf(), Channel: route.Channel, Enabled: true}
	if len(f.Settings) > 0 {
		f.Setting = f.Settings[0]
	}
	f.ExpiresAt = s.Event.expiresAt(route)
	f.Routing.Due = route.dueFor(recipient)
	if s.Event.ID != "" {
		f.DeliveryID = DeliveryID(s.Event.ID, recipient.Who, recipient.UserID, route.Channel)
		f.Routing = f.planDigest()
	}
	if f.Routing.OwnTime(recipient) {
		f.Preference.QuietHours = nil
	}
	if !f.ahead() && route.QuietHoursAction != Ignore {
		f.Silence = Quiet(f.Preference, recipient.Timezone, now, f.Setting)
	}
	key := RecipientKey{UserType: recipient.UserType, UserID: recipient.UserID}
	f.Acted, f.Excluded = key == s.Event.Actor, slices.Contains(s.Event.Exclude, key.String())
	f.Direct = f.Acted && s.namesDirectly(key)
	f.Selected = used[f.Setting.key()]
	f.Caps = s.Caps.Of(route.Channel)
	f.SameAddress = s.Holders.other(f)
	return f
}

// Route returns the routing row of a channel. Without a row, it returns an optional one.
func (s EventSetup) Route(channel Channel) (route Routing, routed bool) {
	i := slices.IndexFunc(s.Routing, func(r Routing) bool { return r.Channel == channel })
	if i < 0 {
		return Routing{Channel: channel}, false
	}
	return s.Routing[i], true
}

func (s EventSetup) settingsOf(entity Entity, channel Channel) []Setting {
	rows := slices.DeleteFunc(slices.Clone(s.Settings), func(row Setting) bool { return row.Entity != entity || row.Channel != channel })
	if len(rows) > 1 && rows[1].EventSpecific {
		slices.Reverse(rows)
	}
	return rows
}

// HasPreference reports whether the recipient has a row for the channel.
func (f Facts) HasPreference() bool {
	return slices.ContainsFunc(f.Recipient.Preferences, func(p Preference) bool { return p.Channel == f.Routing.Channel })
}

// CategoryOff reports whether the recipient switched off the event type's category over the
// channel.
func (f Facts) CategoryOff() bool {
	return f.Category != "" && slices.Contains(f.Recipient.CategoriesOff, CategoryChannelKey{f.Category, f.Routing.Channel})
}

// QuietHoursAction is the treatment of a delivery in quiet hours.
type QuietHoursAction string

// The actions of event_type_channel_routing. Any other value means Drop.
const (
	Drop  QuietHoursAction = "DROP"
	Defer QuietHoursAction = "DEFER" // sent when the quiet hours end
	// Ignore sends at any hour: for codes and alarms.
	Ignore QuietHoursAction = "IGNORE"
)

// Routing is a row of event_type_channel_routing for one event type.
type Routing struct {
	Channel          Channel
	Mandatory        bool
	Strategy         Strategy
	Delay            time.Duration // for the strategy Delayed
	DigestWindow     time.Duration // for the strategy Aggregate, without DigestAt
	QuietHoursAction QuietHoursAction
	Priority         Priority // empty: the recipient's priority, else Normal
	OnEscalationOnly bool     // planning skips it, unless another channel cannot reach the recipient
	Roles            []string // the recipient needs one of these roles; nil: any role

	// For the strategy Delayed: send at a time from the event instead of after Delay.
	SendAtPath string // the place of the time in the payload, or several with commas; empty: Delay counts
	SendBefore Span   // how long before that time
	SkipIfPast bool   // do not send after that time

	ExpiresAfter time.Duration // time from the event to the delivery's expiry; 0: no limit

	// For the strategy Aggregate.
	DigestFirst bool           // the first delivery is sent at once
	DigestAt    *time.Duration // since midnight, by the recipient's clock; nil: DigestWindow counts
	DigestDays  string         // mon,fri; empty: every day

	TellActor bool // the person who caused the event is told like others

	OncePerAddress bool // of recipients with the same address, only the first gets the message

	ThrottleWindow  time.Duration // the least time between two deliveries; 0: no limit
	ThrottleKeyPath string        // the place of the key in the payload, or several with commas; empty: none

	// Results of [EventSetup.ReadPayload], or of planning a digest.
	Due        time.Time // zero: no time, or not read
	DueProblem string    // why there is no time

	ThrottleKey string // empty: none
}

// wait returns the longer wait: for the delay or the due time, or for the end of quiet hours. Only
// quiet hours have a spread.
func (r Routing) wait(now time.Time, silence Silence) Silence {
	due := r.Due
	if r.Strategy == Delayed && r.Delay > 0 {
		due = now.Add(r.Delay)
	}
	if due.After(now) && due.After(silence.Until) {
		return Silence{Until: due}
	}
	return silence
}

// defers reports whether a delivery waits for the end of the silence. It does not wait for a silence
// without an end.
func (r Routing) defers(silence Silence) bool {
	return r.QuietHoursAction == Defer && !silence.Until.IsZero()
}

func (r Routing) priority(p Preference) Priority { return cmp.Or(r.Priority, p.Priority, Normal) }

// Preference is a row of user_notification_preferences.
type Preference struct {
	Channel    Channel
	Enabled    bool
	QuietHours *QuietHours // nil: off
	Priority   Priority    // empty: none
}

// Setting is a row of entity_notification_settings.
type Setting struct {
	Entity        Entity
	Channel       Channel
	EventSpecific bool // the row is for one event type, and replaces the row for all types
	Enabled       bool
	MaxRecipients *int     // per event; nil: unlimited
	AllowedRoles  []string // nil: any role; empty: none

	QuietHours    *QuietHours // nil: none
	QuietTimezone string      // IANA; empty: the recipient's
}

func (s Setting) key() string { return s.Entity.String() + " " + string(s.Channel) }
