package notification

import (
	"strings"
	"time"
)

// ClockLayout is how people are shown a time in UTC. Where it is somebody's clock on
// the wall that matters, [WaitText] names the zone.
const ClockLayout = "2006-01-02 15:04:05.000Z"

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

// listed is words with commas between them, or what to say where there are none.
func listed[T ~string](words []T, none string) string {
	if len(words) == 0 {
		return none
	}
	var text strings.Builder
	for i, word := range words {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(string(word))
	}
	return text.String()
}
