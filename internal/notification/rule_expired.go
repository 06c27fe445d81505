package notification

import "time"

// DecisionExpired means that the delivery's expiry has passed. It also applies to mandatory
// channels, and to an operator's orders without --again.
const DecisionExpired Decision = "EXPIRED"

var expired = rule{
	decision: DecisionExpired,
	applies:  func(f Facts) bool { return !f.ExpiresAt.IsZero() && !f.Now.Before(f.ExpiresAt) },
	meaning:  "it had expired, by expires_at of its event or expires_after of its routing",
	remedy:   "allow more time: expires_after (event_type_channel_routing), or expires_at of the event",
	subject:  "expiry",
	fact:     Facts.expiryText,
	ordered:  true,
	again:    true,
}

func (f Facts) expiryText() string {
	switch {
	case f.ExpiresAt.IsZero():
		return "it never expires"
	case f.Now.Before(f.ExpiresAt):
		return "it expires at " + WallText(f.ExpiresAt, f.Now, f.Recipient.Timezone)
	default:
		return "it expired at " + WallText(f.ExpiresAt, f.Now, f.Recipient.Timezone)
	}
}

// expiresAt returns when a delivery of the event over a channel expires: the earlier of the event's
// time and the channel's time. Zero: never.
func (e Event) expiresAt(route Routing) time.Time {
	at := e.ExpiresAt
	if route.ExpiresAfter > 0 && !e.CreatedAt.IsZero() {
		// JSON cannot write a later year
		if after := e.CreatedAt.Add(route.ExpiresAfter); after.UTC().Year() <= 9999 && (at.IsZero() || after.Before(at)) {
			at = after
		}
	}
	return at
}
