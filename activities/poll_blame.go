package activities

import (
	"cmp"
	"errors"
	"strings"

	"herald/internal/notification"
)

// start is what came of starting one event.
type start struct {
	eventID string
	outcome notification.ClaimOutcome // by its error alone
	err     error                     // nil: it was started, or not tried
}

func startOf(eventID string, err error) start {
	s := start{eventID: eventID, outcome: notification.ClaimStarted, err: err}
	if err != nil {
		s.outcome = startFailure(err)
	}
	return s
}

// refused says that Temporal answered, and did not start the event for a reason
// that may be the event's or Temporal's own. An id that another workflow has is
// the event's, always.
func (s start) refused() bool {
	var taken *notification.IDTakenError
	return (s.outcome == notification.ClaimFailed || s.outcome == notification.ClaimKept) && !errors.As(s.err, &taken)
}

// blame decides whom refusals are counted against. Where another event of the
// batch was started, Temporal works, and a refusal is its event's own. Where none
// of several was, Temporal is at fault, or what we ask of it: all are given back,
// and nothing is counted. One event alone tells nothing: it is kept, and counted,
// so that it ends as FAILED when it was claimed as often as it may be.
func blame(starts []start) []notification.ClaimResult {
	started, refused := 0, 0
	for _, s := range starts {
		switch {
		case s.outcome == notification.ClaimStarted:
			started++
		case s.refused():
			refused++
		}
	}
	results := make([]notification.ClaimResult, 0, len(starts))
	for _, s := range starts {
		result := notification.ClaimResult{EventID: s.eventID, Outcome: s.outcome}
		if s.err != nil {
			result.Error = storable(s.err)
		}
		switch {
		case !s.refused() || started > 0:
		case refused > 1:
			result.Outcome = notification.ClaimReleased
		default:
			result.Outcome = notification.ClaimKept
		}
		results = append(results, result)
	}
	return results
}

// storable is an error's text as Postgres takes it: one that it refused would
// hold up the whole batch.
func storable(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", "?")
	return cmp.Or(text, "an error without a text")
}
