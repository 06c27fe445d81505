package notification

import "time"

// Reopening is the present data of a delivery that is planned again.
type Reopening struct {
	EventID   string
	Channel   Channel
	HasText   bool // from an earlier plan
	Known     bool // the recipient is in the directory
	Active    bool
	Recipient Recipient // with the entity and the role of the plan
	SendAfter time.Time // the planned time of a DELAYED delivery; zero: none
	Follows   bool      // it follows a delivery that did not arrive
}

// Escalated reports whether escalation led to the channel, like [Choice.Escalated].
func (r Reopening) Escalated(setup EventSetup) bool {
	route, _ := setup.Route(r.Channel)
	return r.Follows || route.OnEscalationOnly
}

// OwnTime returns the time that the delivery waits for again: from the payload, or from its plan
// if the payload is unreadable. Zero: no time, or a past one. setup is zero if the event was
// purged. problem explains why there is no time.
func (r Reopening) OwnTime(setup EventSetup, now time.Time) (at time.Time, problem string) {
	at = r.SendAfter
	if setup.Event.ID != "" {
		setup.ReadPayload()
		route, _ := setup.Route(r.Channel)
		if route.DueProblem == "" || !r.HasText { // a delivery with a text had a time when it was planned
			at, problem = route.dueFor(r.Recipient), route.DueProblem
		}
	}
	if !at.After(now) {
		at = time.Time{}
	}
	return at, problem
}

// Problem explains why the recipient is unreachable now; empty: they are reachable. An operator's
// order overrides preferences and quiet hours, but not these problems.
func (r Reopening) Problem() string {
	switch {
	case !r.Known:
		return "the recipient is no longer in the directory"
	case !r.Active:
		return "the recipient is no longer active"
	case r.Recipient.Reachable(r.Channel):
		return ""
	default:
		return "the recipient has " + r.Channel.addressWord(false)
	}
}

// Reopened is a delivery that was planned again.
type Reopened struct {
	DeliveryID string
	RunID      string     // of the workflow that sends it
	Again      bool       // send it even if it was sent before
	Address    string     // empty: none
	SendAfter  *time.Time // nil: at once
	KeepText   bool       // of the earlier plan
	Title      *string
	Body       *string
	URL        string // empty: none
	Problem    string // why it cannot be sent; empty: it can
}

// ReopenedState is a delivery after it was planned again. A sent delivery is unchanged.
type ReopenedState struct {
	Status    Status
	Attempts  int
	LastError string    // empty: none
	SendAfter time.Time // zero: at once
}
