package notification

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// QuietHours is a part of each day without noise, by a wall clock: [Start, End). Both are times
// since midnight, from 0 to under 24 h. If End comes before Start, the part spans midnight. If they
// are equal, it is empty.
type QuietHours struct {
	Start, End time.Duration
}

// Contains reports whether the wall clock, in the location of now, is in the quiet hours.
func (q QuietHours) Contains(now time.Time) bool {
	clock := wallClock(now)
	if q.Start <= q.End {
		return q.Start <= clock && clock < q.End
	}
	return q.Start <= clock || clock < q.End
}

// Until returns the end of the quiet hours that contain now: the first later instant outside
// them. If the clocks skip the end, that is the first instant after the gap. If the end comes
// twice, the first one counts. Call it only if [QuietHours.Contains] is true.
func (q QuietHours) Until(now time.Time) time.Time {
	for {
		// Until the next clock change, the wall clock and real time advance alike.
		end := now.Add(untilClock(q.End, now))
		_, change := now.ZoneBounds()
		if change.IsZero() || end.Before(change) {
			return end
		}
		if !q.Contains(change) {
			return change
		}
		now = change
	}
}

// untilClock returns the time until the wall clock next shows sinceMidnight; always more than 0.
func untilClock(sinceMidnight time.Duration, now time.Time) time.Duration {
	left := sinceMidnight - wallClock(now)
	if left <= 0 {
		left += 24 * time.Hour
	}
	return left
}

// wallClock returns the time since midnight that a clock shows at t. On days with a clock change,
// the elapsed time differs.
func wallClock(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(t.Nanosecond())
}

// Silence is the effect of quiet hours on one channel of a recipient at one moment. The zero
// value: not quiet.
type Silence struct {
	Quiet  bool
	Until  time.Time     // the first moment outside quiet hours; zero: none within 48 hours
	Spread time.Duration // the period over which waiting deliveries are released
}

const (
	// longestSilence limits how long a delivery waits for the end of quiet hours. The recipient's
	// and their entity's quiet hours may follow each other without a gap.
	longestSilence = 48 * time.Hour
	// releaseSpread prevents a burst at the end of quiet hours.
	releaseSpread = time.Minute
)

// Quiet returns the effect of quiet hours on a channel now: from the recipient's preference and
// from their entities' settings. A zone is an IANA name. An empty or unknown zone means UTC, so
// a wrong zone never loses a message.
func Quiet(p Preference, timezone string, now time.Time, groups ...Setting) Silence {
	hours := zonedHoursOf(p, timezone, groups)
	until := now
	for {
		i := slices.IndexFunc(hours, func(s zonedHours) bool { return s.contains(until) })
		switch {
		case i >= 0 && until.Sub(now) > longestSilence:
			return Silence{Quiet: true}
		case i >= 0:
			until = hours[i].until(until)
		case until.Equal(now):
			return Silence{}
		case until.Sub(now) > longestSilence:
			return Silence{Quiet: true}
		default:
			return Silence{Quiet: true, Until: until, Spread: spread(hours, until)}
		}
	}
}

// Release returns when a waiting delivery is sent: a moment in the spread. The same key always
// gives the same moment.
func (s Silence) Release(key string) time.Time {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	at := s.Until
	if s.Spread > 0 {
		at = at.Add(time.Duration(hash.Sum64() % uint64(s.Spread)))
	}
	return at
}

// spread is a minute, or half of the time from end to the next quiet hours if that is shorter.
func spread(hours []zonedHours, end time.Time) time.Duration {
	shortest := releaseSpread
	for _, s := range hours {
		shortest = min(shortest, s.untilStart(end)/2)
	}
	return shortest
}

// zonedHours is quiet hours in one time zone.
type zonedHours struct {
	hours QuietHours
	zone  *time.Location
}

func zonedHoursOf(p Preference, timezone string, groups []Setting) []zonedHours {
	var all []zonedHours
	if !p.Channel.Quieted() {
		return all
	}
	if p.QuietHours != nil {
		all = append(all, zonedHours{*p.QuietHours, zone(timezone)})
	}
	for _, group := range groups {
		if group.QuietHours != nil {
			all = append(all, zonedHours{*group.QuietHours, zone(cmp.Or(group.QuietTimezone, timezone))})
		}
	}
	return all
}

// String returns 22:00-07:00 Europe/Rome.
func (s zonedHours) String() string { return s.hours.String() + " " + s.zone.String() }

func (s zonedHours) contains(t time.Time) bool { return s.hours.Contains(t.In(s.zone)) }

// until returns the end of the quiet hours that contain t, in their zone.
func (s zonedHours) until(t time.Time) time.Time { return s.hours.Until(t.In(s.zone)) }

// untilStart returns the time from a moment outside the quiet hours to their next start.
func (s zonedHours) untilStart(t time.Time) time.Duration {
	if s.hours.Start == s.hours.End {
		return 24 * time.Hour
	}
	return untilClock(s.hours.Start, t.In(s.zone))
}

// zone returns the time zone, or UTC if the name is unknown.
func zone(name string) *time.Location {
	location, _ := KnownZone(name)
	return location
}

// InstantText formats a moment for people, in UTC: "2026-11-22 10:00:05.000Z". If the local time
// matters, use [WallText].
func InstantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// WaitText tells until when a delivery waits, by the recipient's clock, and why: "08:00
// Europe/Rome: quiet hours". It adds the date if it is not today.
func WaitText(until, now time.Time, timezone, why string) string {
	return WallText(until, now, timezone) + ": " + why
}

// WallText formats a time in a zone: "08:00 Europe/Rome". If the date is not the date of now, it
// adds the date: "2026-11-23 08:00 Europe/Rome".
func WallText(at, now time.Time, timezone string) string {
	zone := zone(timezone)
	local, layout := at.In(zone), "15:04"
	if today := now.In(zone); local.Format(time.DateOnly) != today.Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	return local.Format(layout) + " " + zone.String()
}

// Ahead tells what quiet hours will do to a delivery at a later time, under today's rules: ";
// that is in quiet hours until 08:00 Europe/Rome, and it waits until then". Empty: nothing.
func (c QuietCheck) Ahead(at, now time.Time) string {
	silence, deferred := c.Silence(at)
	const begin = "; that is in quiet hours"
	until := " until " + WallText(silence.Until, now, c.Timezone)
	switch {
	case !silence.Quiet:
		return ""
	case deferred:
		return begin + until + ", and it waits until then (DEFER)"
	case silence.Until.IsZero():
		return begin + " that do not end within 48 hours, and it is dropped then"
	default:
		return begin + until + ", and it is dropped then (DROP)"
	}
}

// Reasons for a wait.
const (
	WaitDelay      = "delay"
	WaitQuietHours = "quiet hours"
	WaitCap        = "frequency cap"
	WaitRetry      = "the last attempt failed, and the next attempt is due then"
	WaitOperator   = "rescheduled by an operator"
)

// String returns 22:00-07:00, without a zone.
func (q QuietHours) String() string { return clockText(q.Start) + "-" + clockText(q.End) }

// clockText formats a time of day: 07:00. It adds seconds only if they are not 0.
func clockText(sinceMidnight time.Duration) string {
	t := time.Time{}.Add(sinceMidnight)
	if sinceMidnight%time.Minute == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999999")
}

// listed joins words with commas, or returns none if there are no words.
func listed[T ~string](words []T, none string) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return cmp.Or(strings.Join(texts, ", "), none)
}
