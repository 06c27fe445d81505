package notification

import (
	"fmt"
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
		end := now.Add(q.left(now))
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

// left is what the wall clock has to run until the next End, more than 0.
func (q QuietHours) left(now time.Time) time.Duration {
	left := q.End - wallClock(now)
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

// Quiet says whether a preference's quiet hours silence its channel now, and if
// so until when. The time zone is an IANA name; empty means UTC. An error says
// that the zone is unknown, and comes only where quiet hours are on and the
// channel is one that they silence.
func Quiet(p Preference, timezone string, now time.Time) (quiet bool, until time.Time, err error) {
	if p.QuietHours == nil || !p.Channel.Quieted() {
		return false, time.Time{}, nil
	}
	zone, err := loadZone(timezone)
	if err != nil {
		return false, time.Time{}, err
	}
	local := now.In(zone)
	if !p.QuietHours.Contains(local) {
		return false, time.Time{}, nil
	}
	return true, p.QuietHours.Until(local), nil
}

// loadZone refuses the two names that mean another zone on each machine.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || name == "localtime" {
		return nil, fmt.Errorf("time zone %q is unknown: quiet hours cannot be judged", name)
	}
	return zone, nil
}
