package notification

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DigestKey identifies a digest: one recipient, one event type, one channel.
type DigestKey struct {
	UserType  UserType
	UserID    string
	Channel   Channel
	EventType string
}

// Name is the digest's part of a workflow ID: staff10-EMAIL-REVIEW_POSTED. who is the word for
// the recipient's user type.
func (k DigestKey) Name(who string) string {
	return who + k.UserID + "-" + string(k.Channel) + "-" + k.EventType
}

// MaxDigestItems is the maximum number of notifications in one digest.
const MaxDigestItems = 100

// DigestPlace names the digest that a delivery joins, if the delivery still has to be sent.
type DigestPlace struct {
	Status   Status
	Problem  string // why it is FAILED; empty: it is not
	Key      DigestKey
	Who      string // the word for the recipient's user type
	Priority Priority
	Window   time.Duration
	Due      time.Time // as planned, or as an operator rescheduled it; zero: Window after the first item
	Hastened bool      // an operator sends the digest now, even in quiet hours
	Timed    bool      // the digest has a time of day
}

// DigestWindow tells when the deliveries of a digest are due.
type DigestWindow struct {
	Length    time.Duration
	Timed     bool // each is due at the time that planning gave it, instead of after Length
	ReadyOnly bool // deliveries that are not due wait for another digest
}

// Sealing is an order to decide which deliveries a digest lists.
type Sealing struct {
	DigestID string
	Key      DigestKey
	Window   DigestWindow
	// Fits reports whether the text of a digest with these items fits into a message. Of the digest, it
	// gets what the text needs.
	Fits func(digest Digest, items []DigestItem) bool
}

// SealedDigest is the content of one digest.
type SealedDigest struct {
	Items []string  // delivery ids, in order
	Next  time.Time // end of the window of the remaining notifications; zero: none remain
}

// DigestItem is one notification in a digest.
type DigestItem struct {
	DeliveryID string
	EventID    string
	Title      string
	Body       string // HTML for EMAIL
	CreatedAt  time.Time

	Entity                 Entity // as in [Recipient], like the next two
	EntityName, MemberRole string
}

// Digest is a digest's data in the database, without its items.
type Digest struct {
	Sent      int               // items that an earlier attempt sent
	Dropped   map[string]string // why the rules dropped items, by delivery id
	Recipient Recipient         // with the name, the addresses and the locale
	Templates []Template
}

// ItemAttempt is an attempt at one item. An attempt at a digest counts as one at each item.
type ItemAttempt struct {
	DeliveryID string
	Attempt    int
}

const (
	// FirstOfDigest is the key in throttle of a delivery that is sent at once, before its digest.
	FirstOfDigest = "first"
	// longestDigest is longer than the time between two weekly digests.
	longestDigest = 8 * 24 * time.Hour
)

// planDigest returns the route with the time of the digest. With DigestFirst, the first delivery is
// sent at once, and the digest collects the following deliveries.
func (f Facts) planDigest() Routing {
	route := f.Routing
	if route.Strategy != Aggregate {
		return route
	}
	begins := f.Now
	if route.DigestFirst {
		first := f.lastOf(FirstOfDigest)
		if first.DeliveryID == "" || !f.Now.Before(f.digestDue(first.At)) {
			route.Strategy = Immediate
			return route
		}
		begins = first.At
	}
	if route.DigestFirst || route.DigestAt != nil {
		route.Due = f.digestDue(begins)
	}
	return route
}

// OwnTime reports whether the recipient chose the time of the type's digests themselves. Their own
// quiet hours do not hold such a digest back.
func (r Routing) OwnTime(recipient Recipient) bool {
	return r.Strategy == Aggregate && r.DigestAt != nil && recipient.DigestAt != nil
}

// digestDue returns the due time of a digest that starts to collect at begins.
func (f Facts) digestDue(begins time.Time) time.Time {
	at := f.Routing.DigestAt
	switch {
	case at == nil:
		return begins.Add(f.Routing.DigestWindow)
	case f.Recipient.DigestAt != nil:
		at = f.Recipient.DigestAt
	}
	return NextDigest(*at, f.Routing.DigestDays, f.Recipient.Timezone, begins)
}

// NextDigest returns the next instant after `after` when the zone's clocks show at (since midnight)
// on one of the days (mon,fri; empty: every day). If clocks skip that time, it returns the first
// instant after the gap. If clocks show it twice, only the first instant counts. An unknown zone
// means UTC.
func NextDigest(at time.Duration, days, timezone string, after time.Time) time.Time {
	zone := zone(timezone)
	year, month, today := after.In(zone).Date()
	for day := -1; ; day++ { // after a gap, yesterday's digest may be due today
		midnight := time.Date(year, month, today+day, 0, 0, 0, 0, time.UTC)
		if days != "" && !slices.Contains(strings.Split(days, ","), strings.ToLower(midnight.Weekday().String()[:3])) {
			continue
		}
		if due := firstShowing(midnight.Add(at), zone); due.After(after) {
			return due
		}
	}
}

// firstShowing returns the first instant at which clocks in a zone show the date and time of wall, or
// a later time. wall is in UTC.
func firstShowing(wall time.Time, zone *time.Location) time.Time {
	const change = 36 * time.Hour // longer than any change of clocks, and any distance from UTC
	var first time.Time
	for _, near := range []time.Time{wall.Add(-change), wall.Add(change)} {
		_, offset := near.In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		_, shown := at.In(zone).Zone()
		if shown == offset && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() { // the clocks skip it
		_, first = wall.Add(-change).In(zone).ZoneBounds()
	}
	return first.UTC()
}

// digestText tells when the digest is due, if planning sets that time.
func (f Facts) digestText() string {
	r := f.Routing
	text := fmt.Sprintf("a digest %s after the first", r.DigestWindow)
	if r.DigestAt != nil {
		text = "a digest at " + clockText(*r.DigestAt)
		if f.Recipient.DigestAt != nil {
			text = "a digest at " + clockText(*f.Recipient.DigestAt) + ", as they chose"
		}
		if r.DigestDays != "" {
			text += ", on " + r.DigestDays
		}
	}
	switch {
	case !r.DigestFirst && r.DigestAt == nil:
		return "no due time"
	case r.Strategy == Immediate:
		return text + "; the first is sent at once"
	case f.ahead():
		return text + ": " + WaitText(r.Due, f.Now, f.Recipient.Timezone, "it waits until then")
	default:
		return text
	}
}
