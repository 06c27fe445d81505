package notification

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// QuietHours is a stretch of each day in which somebody wants no noise, by the
// clock on their wall: [Start, End). Both are times since midnight, from 0 to
// under 24 h. It wraps midnight where End comes before Start, and is empty where
// they are equal.
type QuietHours struct {
	Start, End time.Duration
}

// Contains says whether the wall clock, in the location of now, is in the quiet
// hours.
func (q QuietHours) Contains(now time.Time) bool {
	clock := wallClock(now)
	if q.Start <= q.End {
		return q.Start <= clock && clock < q.End
	}
	return q.Start <= clock || clock < q.End
}

// Until returns the end of the quiet hours that contain now: the first instant
// after it at which the wall clock has left them. Where the clocks go forward
// over the end, that is the first instant after the gap; where they go back, an
// end that comes twice counts the first time. Call it only where
// [QuietHours.Contains] holds.
func (q QuietHours) Until(now time.Time) time.Time {
	for {
		// Up to the next change of the clocks, wall clock and time run alike.
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

// untilClock is what the wall clock has to run until it next shows a time, more than 0.
func untilClock(sinceMidnight time.Duration, now time.Time) time.Duration {
	left := sinceMidnight - wallClock(now)
	if left <= 0 {
		left += 24 * time.Hour
	}
	return left
}

// wallClock is the time since midnight that a clock shows at t: on days when
// the clocks change, not the time that has passed since.
func wallClock(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(t.Nanosecond())
}

// Silence is what quiet hours mean for one channel of a recipient at one moment.
// The zero value: it is not quiet.
type Silence struct {
	Quiet  bool
	Until  time.Time     // the first moment that is not quiet; zero: none within 48 hours
	Spread time.Duration // over which what waited for Until is released
}

const (
	// longestSilence is how long a delivery waits for quiet hours to end at most.
	// The recipient's and their entity's may follow each other without a gap.
	longestSilence = 48 * time.Hour
	// releaseSpread keeps the end of quiet hours from being one burst.
	releaseSpread = time.Minute
)

// Quiet says whether quiet hours silence a channel now: the recipient's own, of
// their preference, or those of their entities' settings. A zone is an IANA name;
// an empty one is UTC, and so is one that is unknown here: it never costs a
// message.
func Quiet(p Preference, timezone string, now time.Time, groups ...Setting) Silence {
	hours := stretches(p, timezone, groups)
	until := now
	for {
		i := slices.IndexFunc(hours, func(s stretch) bool { return s.contains(until) })
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

// Release is when what waited for the silence to end is sent: at a moment of the
// spread that its key decides, always the same one.
func (s Silence) Release(key string) time.Time {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	at := s.Until
	if s.Spread > 0 {
		at = at.Add(time.Duration(hash.Sum64() % uint64(s.Spread)))
	}
	return at
}

// spread is a minute, or half of the time from end until it is quiet again.
func spread(hours []stretch, end time.Time) time.Duration {
	shortest := releaseSpread
	for _, s := range hours {
		shortest = min(shortest, s.untilStart(end)/2)
	}
	return shortest
}

// stretch is quiet hours by the clock of one place.
type stretch struct {
	hours QuietHours
	zone  *time.Location
}

func stretches(p Preference, timezone string, groups []Setting) []stretch {
	var all []stretch
	if !p.Channel.Quieted() {
		return all
	}
	if p.QuietHours != nil {
		all = append(all, stretch{*p.QuietHours, zone(timezone)})
	}
	for _, group := range groups {
		if group.QuietHours != nil {
			all = append(all, stretch{*group.QuietHours, zone(cmp.Or(group.QuietTimezone, timezone))})
		}
	}
	return all
}

// String is 22:00-07:00 Europe/Rome.
func (s stretch) String() string { return s.hours.String() + " " + s.zone.String() }

func (s stretch) contains(t time.Time) bool { return s.hours.Contains(t.In(s.zone)) }

// until is the end, by the clock of the place.
func (s stretch) until(t time.Time) time.Time { return s.hours.Until(t.In(s.zone)) }

// untilStart is the time from a moment outside the stretch to its next start.
func (s stretch) untilStart(t time.Time) time.Duration {
	if s.hours.Start == s.hours.End {
		return 24 * time.Hour
	}
	return untilClock(s.hours.Start, t.In(s.zone))
}

// zone is UTC where the name is unknown.
func zone(name string) *time.Location {
	location, _ := KnownZone(name)
	return location
}

// KnownZone says whether a name is that of a time zone here; if not, the zone is
// UTC. Postgres takes names that are none in the IANA database's spelling, such
// as europe/rome and PST. Local and localtime would be another zone on each machine.
func KnownZone(name string) (*time.Location, bool) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" || name == "localtime" {
		return time.UTC, false
	}
	return location, true
}

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
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return cmp.Or(strings.Join(texts, ", "), none)
}
