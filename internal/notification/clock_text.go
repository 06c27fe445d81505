package notification

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// WaitText says until when a delivery waits, by the recipient's clock, and for
// what: "08:00 Europe/Rome: quiet hours". A day other than today's is named.
func WaitText(until, now time.Time, timezone, why string) string {
	zone := zone(timezone)
	local, layout := until.In(zone), "15:04"
	if today := now.In(zone); local.Format(time.DateOnly) != today.Format(time.DateOnly) {
		layout = "2 Jan 15:04"
	}
	return strings.Join([]string{local.Format(layout), zone.String() + ":", why}, " ")
}

// Why deliveries wait.
const (
	WaitDelay      = "delay"
	WaitQuietHours = "quiet hours"
)

// String is 22:00-07:00.
func (q QuietHours) String() string { return clockText(q.Start) + "-" + clockText(q.End) }

// clockText is a time of day: 07:00, and with seconds only where they are not 0.
func clockText(sinceMidnight time.Duration) string {
	t := time.Time{}.Add(sinceMidnight)
	if sinceMidnight%time.Minute == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999999")
}

// QuietText says what a preference's quiet hours are, and what they mean now, by
// the recipient's clock: "22:00-07:00 Europe/Rome, it is 23:14 there now, quiet
// until 07:00".
func QuietText(p Preference, timezone string, now time.Time) string {
	switch {
	case !p.Channel.Quieted():
		return fmt.Sprintf("%s is never quieted", p.Channel)
	case p.QuietHours == nil:
		return "none"
	default:
		return stretchText(*p.QuietHours, timezone, now)
	}
}

// GroupQuietText says the same of the quiet hours of an entity's setting, by the
// clock of its zone, or the recipient's where it has none.
func GroupQuietText(s Setting, timezone string, now time.Time) string {
	return QuietText(Preference{Channel: s.Channel, QuietHours: s.QuietHours}, cmp.Or(s.QuietTimezone, timezone), now)
}

func stretchText(hours QuietHours, timezone string, now time.Time) string {
	zone, known := KnownZone(timezone)
	s := stretch{hours, zone}
	text := fmt.Sprintf("%s %s", hours, zone)
	if !known {
		text += fmt.Sprintf(" (the time zone %q is unknown here, and taken as UTC)", timezone)
	}
	text += fmt.Sprintf(", it is %s there now, ", now.In(zone).Format("15:04"))
	if s.contains(now) {
		return text + "quiet until " + clockText(wallClock(s.until(now)))
	}
	return text + "not quiet"
}
