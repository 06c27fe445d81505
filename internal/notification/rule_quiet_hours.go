package notification

import (
	"cmp"
	"fmt"
	"time"
)

// DecisionQuietHours means that the recipient or their entity has quiet hours, and the delivery
// does not wait for their end. It also applies to mandatory channels.
const DecisionQuietHours Decision = "QUIET_HOURS"

var inQuietHours = rule{
	decision: DecisionQuietHours,
	applies:  func(f Facts) bool { return f.Silence.Quiet && !f.Routing.defers(f.Silence) },
	meaning:  "they or their entity had quiet hours, in which this event type is dropped",
	remedy: "set quiet_hours_action (event_type_channel_routing) to DEFER: it then waits for their end, at most 48 hours; or to IGNORE, " +
		"for codes and alarms: it is then sent at any hour",
	subject: "quiet hours",
	fact: func(f Facts) string {
		text := f.OwnQuietHours()
		if f.Setting.QuietHours != nil && f.Routing.Channel.Quieted() {
			text += "; of their entity " + f.Setting.QuietText(f.Recipient.Timezone, f.Now)
		}
		if f.Routing.QuietHoursAction == Ignore {
			text += "; quiet_hours_action is IGNORE, so it is sent at any hour"
		} else if f.ahead() {
			text += "; they are checked when the delivery is due"
		}
		return text
	},
}

// OwnQuietHours describes the recipient's quiet hours and their effect now, by the recipient's
// clock: "22:00-07:00 Europe/Rome, it is 23:14 Europe/Rome now, quiet until 07:00 Europe/Rome".
func (f Facts) OwnQuietHours() string {
	switch {
	case !f.Routing.Channel.Quieted():
		return fmt.Sprintf("%s is never quieted", f.Routing.Channel)
	case f.Preference.QuietHours == nil:
		return "none"
	default:
		return quietText(*f.Preference.QuietHours, f.Recipient.Timezone, f.Now)
	}
}

// QuietText describes an entity's quiet hours in the same way. The clock is in the entity's zone,
// or else in the recipient's. Empty: it has no quiet hours.
func (s Setting) QuietText(timezone string, now time.Time) string {
	switch {
	case s.QuietHours == nil:
		return ""
	case !s.Channel.Quieted():
		return fmt.Sprintf("%s is never quieted", s.Channel)
	default:
		return quietText(*s.QuietHours, cmp.Or(s.QuietTimezone, timezone), now)
	}
}

func quietText(hours QuietHours, timezone string, now time.Time) string {
	zone, known := KnownZone(timezone)
	s := zonedHours{hours, zone}
	text := s.String()
	if !known {
		text += fmt.Sprintf(" (the time zone %q is unknown here, and taken as UTC)", timezone)
	}
	text += fmt.Sprintf(", it is %s now, ", WallText(now, now, timezone))
	if s.contains(now) {
		return text + "quiet until " + clockText(wallClock(s.until(now))) + " " + zone.String()
	}
	return text + "not quiet"
}
