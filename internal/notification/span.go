package notification

import (
	"fmt"
	"strings"
	"time"
)

// Span is a length of time with months and days of the calendar, as an interval of Postgres has.
type Span struct {
	Months, Days int
	Rest         time.Duration // hours and less
}

// before returns the time a span earlier, by the clock of a time zone: the day before has the same time
// of day, also over a change of clocks. A zero time stays zero.
func (s Span) before(at time.Time, timezone string) time.Time {
	if at.IsZero() || s == (Span{}) {
		return at
	}
	return at.In(zone(timezone)).AddDate(0, -s.Months, -s.Days).Add(-s.Rest).UTC()
}

// dueFor returns the time from the payload, less send_before by the recipient's clock.
func (r Routing) dueFor(recipient Recipient) time.Time {
	return r.SendBefore.before(r.Due, recipient.Timezone)
}

// String returns "1 month 2 days 3h0m0s"; 0s: no time.
func (s Span) String() string {
	var parts []string
	for _, part := range []struct {
		count int
		unit  string
	}{{s.Months, "month"}, {s.Days, "day"}} {
		switch part.count {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.unit)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", part.count, part.unit))
		}
	}
	if s.Rest != 0 || len(parts) == 0 {
		parts = append(parts, s.Rest.String())
	}
	return strings.Join(parts, " ")
}
