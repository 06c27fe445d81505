package notification

import (
	"fmt"
	"strings"
	"time"
)

// longestAhead limits the time from an event to its delivery. It is longer than any real plan,
// and far below Temporal's limit for a wait.
const longestAhead = 10 * 365 * 24 * time.Hour

// ReadPayload reads the due time and the throttle key of each routing row from the event's payload.
func (s *EventSetup) ReadPayload() {
	payload, _ := DecodePayload(s.Event.Payload)
	for i := range s.Routing {
		route := &s.Routing[i]
		route.ThrottleKey = route.throttleKey(payload)
		if route.SendAtPath == "" {
			continue
		}
		if at, err := route.sendAt(payload, s.Event.CreatedAt); err != nil {
			route.DueProblem = "send_at_path: " + err.Error()
		} else {
			route.Due = at.Add(-route.SendBefore)
		}
	}
}

// sendAt returns the time at the first path that the payload has. Errors name the path, not the
// value.
func (r Routing) sendAt(payload any, created time.Time) (time.Time, error) {
	paths := splitPaths(r.SendAtPath)
	for _, path := range paths {
		value := valueAt(payload, path)
		if value == nil || value == "" {
			continue
		}
		at, found := readTime(value)
		switch {
		case !found:
			return time.Time{}, fmt.Errorf("%s is not a time with a zone, such as 2026-11-23T09:30:00+01:00", path)
		case at.After(created.Add(longestAhead)):
			return time.Time{}, fmt.Errorf("%s is more than ten years ahead", path)
		default:
			return at, nil
		}
	}
	if len(paths) > 1 {
		return time.Time{}, fmt.Errorf("the payload has none of %s", strings.Join(paths, ", "))
	}
	return time.Time{}, fmt.Errorf("%s is not in the payload", paths[0])
}

// ahead reports whether the delivery is due in the future. The rules check quiet hours at that
// time.
func (f Facts) ahead() bool { return f.Routing.Due.After(f.Now) }
