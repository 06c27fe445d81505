package notification

import "time"

// Reopening is what the database knows now of a delivery that is planned again.
type Reopening struct {
	EventID   string
	Channel   Channel
	HasText   bool // of an earlier plan
	Known     bool // the recipient is in the directory
	Active    bool
	Recipient Recipient // without role and entity
	SendAfter time.Time // as a DELAYED delivery was planned; zero: it was not
	Follows   bool      // it follows a delivery that did not get there
}

// Escalated reports whether escalation has led to the channel, as [Choice.Escalated] does.
func (r Reopening) Escalated(setup EventSetup) bool {
	route, _ := setup.Route(r.Channel)
	return r.Follows || route.OnEscalationOnly
}

// OwnTime is the time until which the delivery waits again: that which the payload names
// or, if that cannot be read any more, that of its plan. Zero: it has none, or it is past.
// Setup is zero if the event was purged. The problem says why there is no time.
func (r Reopening) OwnTime(setup EventSetup, now time.Time) (at time.Time, problem string) {
	at = r.SendAfter
	if setup.Event.ID != "" {
		setup.ReadTimes()
		route, _ := setup.Route(r.Channel)
		if route.DueProblem == "" || !r.HasText { // what has a text had a time when it was planned
			at, problem = route.Due, route.DueProblem
		}
	}
	if !at.After(now) {
		at = time.Time{}
	}
	return at, problem
}

// Problem says why the recipient cannot be reached any more; empty: they can. An
// operator's order overrides preferences and quiet hours, but not these.
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

// Reopened is one delivery that was planned again.
type Reopened struct {
	DeliveryID string
	RunID      string     // of the workflow that makes it
	Again      bool       // even if it was sent
	Address    string     // empty: none
	SendAfter  *time.Time // nil: at once
	KeepText   bool       // the text stays as it was
	Title      *string
	Body       *string
	Problem    string // not empty: it cannot be sent, for this reason
}

// ReopenedState is a delivery after it was planned again, or unchanged if it had been
// sent.
type ReopenedState struct {
	Status    Status
	Attempts  int
	LastError string    // empty: none
	SendAfter time.Time // zero: at once
}
