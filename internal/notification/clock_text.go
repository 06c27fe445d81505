package notification

import (
	"strings"
	"time"
)

// InstantText is how people are shown a moment: "2026-11-22 10:00:05.000Z", in UTC.
// Where it is somebody's clock on the wall that matters, [WallText] names the zone.
func InstantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// WaitText says until when a delivery waits, by the recipient's clock, and for
// what: "08:00 Europe/Rome: quiet hours". A day other than today's is named.
func WaitText(until, now time.Time, timezone, why string) string {
	return WallText(until, now, timezone) + ": " + why
}

// WallText is a time by the clock of a zone: "08:00 Europe/Rome". A day other than
// that of now is named: "2026-11-23 08:00 Europe/Rome".
func WallText(at, now time.Time, timezone string) string {
	zone := zone(timezone)
	local, layout := at.In(zone), "15:04"
	if today := now.In(zone); local.Format(time.DateOnly) != today.Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	return local.Format(layout) + " " + zone.String()
}

// aheadMark is between what a delivery waits for and what comes then.
const aheadMark = "; that is in quiet hours"

// Ahead says what quiet hours will do to a delivery at a later time, if its rules stay
// as they are: "; that is in quiet hours until 08:00 Europe/Rome, and it waits until
// then". Empty: they will leave it alone.
func (c QuietCheck) Ahead(at, now time.Time) string {
	silence, deferred := c.Silence(at)
	until := " until " + WallText(silence.Until, now, c.Timezone)
	switch {
	case !silence.Quiet:
		return ""
	case deferred:
		return aheadMark + until + ", and it waits until then (DEFER)"
	case silence.Until.IsZero():
		return aheadMark + " that do not end within 48 hours, and it is dropped then"
	default:
		return aheadMark + until + ", and it is dropped then (DROP)"
	}
}

// WithoutAhead is the text of a wait without what [QuietCheck.Ahead] added to it.
func WithoutAhead(text string) string {
	before, _, _ := strings.Cut(text, aheadMark)
	return before
}

// Why deliveries wait.
const (
	WaitDelay      = "delay"
	WaitQuietHours = "quiet hours"
)

// String is 22:00-07:00, by no zone.
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
