package notification

import (
	"cmp"
	"slices"
	"time"
)

// Facts are all that the rules look at, of one recipient and one channel of an
// event, at one moment.
type Facts struct {
	Now        time.Time
	Recipient  Recipient
	Routing    Routing    // of the event's type over the channel
	Served     []UserType // whom the channel may serve
	Preference Preference // the recipient's for the channel, or what holds without a row
	Settings   []Setting  // the rows of their entity for the channel, two at most; that for the event's own type comes first, and replaces the other
	Category   string     // of the event's type; empty: none
	Setting    Setting    // the first of them, or what holds without a row
	Silence    Silence    // what quiet hours mean now; zero where the delivery has a time of its own that has not come
	Selected   int        // recipients of the entity who were selected for the channel before
	Uncounted  bool       // there may be more of them than Selected says
}

// Facts puts together what the rules look at. A channel that is not routed counts
// as optional.
func (s EventSetup) Facts(recipient Recipient, channel Channel, now time.Time, used Used) Facts {
	route, _ := s.Route(channel)
	return s.facts(recipient, route, now, used)
}

func (s EventSetup) facts(recipient Recipient, route Routing, now time.Time, used Used) Facts {
	f := Facts{Now: now, Recipient: recipient, Routing: route, Served: s.Supported[route.Channel], Preference: recipient.Preference(route.Channel), Category: s.Category}
	f.Settings = s.settingsOf(recipient.SettingsOf(), route.Channel)
	f.Setting = Setting{Entity: recipient.SettingsOf(), Channel: route.Channel, Enabled: true}
	if len(f.Settings) > 0 {
		f.Setting = f.Settings[0]
	}
	if !f.ahead() {
		f.Silence = Quiet(f.Preference, recipient.Timezone, now, f.Setting)
	}
	f.Selected = used[f.Setting.key()]
	return f
}

// Route is the routing row of a channel. Where there is none, it is one that is
// optional.
func (s EventSetup) Route(channel Channel) (route Routing, routed bool) {
	i := slices.IndexFunc(s.Routing, func(r Routing) bool { return r.Channel == channel })
	if i < 0 {
		return Routing{Channel: channel}, false
	}
	return s.Routing[i], true
}

func (s EventSetup) settingsOf(entity Entity, channel Channel) []Setting {
	var rows []Setting
	for _, row := range s.Settings {
		if row.Entity == entity && row.Channel == channel {
			rows = append(rows, row)
		}
	}
	if len(rows) > 1 && rows[1].EventSpecific {
		slices.Reverse(rows)
	}
	return rows
}

// HasPreference says that the recipient has a row for the channel.
func (f Facts) HasPreference() bool {
	return slices.ContainsFunc(f.Recipient.Preferences, func(p Preference) bool { return p.Channel == f.Routing.Channel })
}

// CategoryOff says that the recipient switched the event type's category off over the
// channel.
func (f Facts) CategoryOff() bool {
	return f.Category != "" && slices.Contains(f.Recipient.CategoriesOff, CategoryChannelKey{f.Category, f.Routing.Channel})
}

// QuietHoursAction is what becomes of a delivery in quiet hours.
type QuietHoursAction string

// The actions of event_type_channel_routing; anything else means Drop.
const (
	Drop  QuietHoursAction = "DROP"
	Defer QuietHoursAction = "DEFER" // sent when the quiet hours end
)

// Routing is a row of event_type_channel_routing, of one event type.
type Routing struct {
	Channel          Channel
	Mandatory        bool
	Strategy         Strategy
	Delay            time.Duration // of the strategy Delayed
	DigestWindow     time.Duration // of the strategy Aggregate
	QuietHoursAction QuietHoursAction
	Priority         Priority // empty: the recipient's, else Normal
	OnEscalationOnly bool     // planning leaves it out, unless another channel cannot reach the recipient
	Roles            []string // one of which the recipient must have; nil: any role

	// Of the strategy Delayed, until a time of the event's own in place of Delay.
	SendAtPath string        // where the payload has the time; several, with commas; empty: Delay counts
	SendBefore time.Duration // how long before it
	SkipIfPast bool          // if that is past, it is not sent

	// What [EventSetup.ReadTimes] finds.
	Due        time.Time // zero: none, or not read
	DueProblem string    // why there is none
}

// wait is until the later end of the delay, or of the time of its own, and of the
// quiet hours. Only those are followed by a spread.
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

// defers says that a delivery waits for the end of a silence that has one.
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
	EventSpecific bool // for the event's own type; such a row replaces the one for every type
	Enabled       bool
	MaxRecipients *int     // of one event; nil: unlimited
	AllowedRoles  []string // nil: any role; empty: none

	QuietHours    *QuietHours // nil: none
	QuietTimezone string      // IANA; empty: the recipient's
}

func (s Setting) key() string { return s.Entity.String() + " " + string(s.Channel) }
