package notification

import (
	"slices"
	"time"
)

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
}

// wait is until the later end of the delay and of the quiet hours. Only those are
// followed by a spread.
func (r Routing) wait(now time.Time, silence Silence) Silence {
	if r.Strategy == Delayed && r.Delay > 0 {
		if delayed := now.Add(r.Delay); delayed.After(silence.Until) {
			return Silence{Until: delayed}
		}
	}
	return silence
}

// defers says that a delivery waits for the end of a silence that has one.
func (r Routing) defers(silence Silence) bool {
	return r.QuietHoursAction == Defer && !silence.Until.IsZero()
}

func (r Routing) priority(p Preference) Priority {
	switch {
	case r.Priority != "":
		return r.Priority
	case p.Priority != "":
		return p.Priority
	default:
		return Normal
	}
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

// setting is the row that holds for a recipient. Where there is none the
// channel is on, unlimited and for any role. Customers have no group of their
// own, and share the row of CUSTOMER/0.
func (r Rules) setting(recipient Recipient, channel Channel) Setting {
	entity := recipient.Entity
	if recipient.UserType == Customer {
		entity = Entity{Type: EntityCustomer, ID: "0"}
	}
	found := Setting{Entity: entity, Channel: channel, Enabled: true}
	for _, s := range r.Settings {
		if s.Entity == entity && s.Channel == channel {
			found = s
			if s.EventSpecific {
				break
			}
		}
	}
	return found
}

func (s Setting) key() string { return s.Entity.String() + " " + string(s.Channel) }

func (s Setting) allows(role string) bool {
	return s.AllowedRoles == nil || slices.Contains(s.AllowedRoles, role)
}

func (s Setting) exhausted(used Used) bool {
	return s.MaxRecipients != nil && used[s.key()] >= *s.MaxRecipients
}
