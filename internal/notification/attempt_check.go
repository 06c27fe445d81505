package notification

import "time"

// AttemptCheck is a delivery that was planned a while ago, with all that may have
// changed since, as it is now.
type AttemptCheck struct {
	DeliveryID string
	Channel    Channel
	Setup      EventSetup // of its event's type and of its channel
	Recipient  Recipient
	Known      bool // the recipient is in the directory
	Active     bool
	Member     bool // of the entity through which they were to be told; true where that takes no membership
	SkipQuiet  bool // quiet hours are not asked
	Ordered    bool // by an operator: then only the recipient and their address are asked for
	Again      bool // ordered in spite of CancelledBy

	CancelledBy string // the event that takes its event back; empty: none
}

// Verdict is what the rules say about a delivery that waited. The zero value: it
// may be sent.
type Verdict struct {
	Dropped   string    // not empty: it is not to be sent, for this reason: a [Decision], [NoLongerRecipient], or [CancelledBy] an event
	NotBefore time.Time // set: it is quiet until then
	Wait      string    // the same for people
}

// NoLongerRecipient is why somebody who left is not told: they are not active, not in
// the directory, or no longer a member of the entity that the event concerns.
const NoLongerRecipient = "NO_LONGER_RECIPIENT"

// DroppedMeaning says, as a sentence for people, why a delivery was dropped after a
// wait; empty: it was not.
func DroppedMeaning(reason string, channel Channel, userType UserType) string {
	if reason == NoLongerRecipient {
		return "the recipient had left: not in the directory, not active, or no longer a member of the entity that the event concerns"
	}
	if r, found := ruleOf(Decision(reason)); found && !r.settled {
		return r.meaning(channel, userType)
	}
	return ""
}

// DroppedRemedy says what to change before a delivery that was dropped can be retried;
// empty: an operator's retry stands above the reason.
func DroppedRemedy(reason string, channel Channel) string {
	if r, found := ruleOf(Decision(reason)); found && r.ordered {
		return r.remedy(channel)
	}
	return ""
}

// Held says that a delivery may not be sent, not now or not at all.
func (v Verdict) Held() bool { return v.Dropped != "" || !v.NotBefore.IsZero() }

// Judge applies once more the rules by which the delivery was planned, apart from
// those that planning settles for ever. Of what an operator orders, it asks only the
// rules that stand above operators.
func (c AttemptCheck) Judge(now time.Time) Verdict {
	if c.CancelledBy != "" && !c.Again {
		return Verdict{Dropped: CancelledBy(c.CancelledBy)}
	}
	if !c.Known || !c.Active || (!c.Member && !c.Ordered) {
		return Verdict{Dropped: NoLongerRecipient}
	}
	facts := c.Setup.Facts(c.Recipient, c.Channel, now, nil)
	if c.SkipQuiet || c.Ordered {
		facts.Silence = Silence{}
	}
	decision := decide(facts, func(r rule) bool { return !r.settled && (r.ordered || !c.Ordered) })
	switch {
	case decision != DecisionSelected:
		return Verdict{Dropped: string(decision)}
	case facts.Silence.Until.IsZero():
		return Verdict{}
	default:
		return Verdict{
			NotBefore: facts.Silence.Release(c.DeliveryID).UTC(),
			Wait:      WaitText(facts.Silence.Until, now, c.Recipient.Timezone, WaitQuietHours),
		}
	}
}
