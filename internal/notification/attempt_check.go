package notification

import "time"

// AttemptCheck is a delivery that waited after planning, with everything that may have changed
// since then.
type AttemptCheck struct {
	DeliveryID string
	Channel    Channel
	Setup      EventSetup // for its event type and its channel
	Recipient  Recipient
	Known      bool // the recipient is in the directory
	Active     bool
	Member     bool // of the entity through which the event names them; true if no membership is required
	SkipQuiet  bool // ignores quiet hours
	Ordered    bool // an operator ordered the delivery: only the rules about the recipient and the address apply
	Again      bool // the order overrides Withdrawn

	Withdrawn string    // the last_error if another event cancelled its event or replaced the delivery; empty: neither
	ExpiresAt time.Time // of the delivery, as planned; zero: never
}

// Verdict is the rules' decision about a delivery that waited. The zero value means: send it.
type Verdict struct {
	Dropped   string    // the reason not to send it: a [Decision], [NoLongerRecipient] or AttemptCheck.Withdrawn; empty: send it
	NotBefore time.Time // when the rules are asked again: at the end of quiet hours, when a cap has room, or at the expiry; zero: now
	Wait      string    // explains NotBefore to people
}

// NoLongerRecipient is the reason to drop a delivery whose recipient is inactive, erased, not in the
// directory, or no longer a member of the event's entity.
const NoLongerRecipient = "NO_LONGER_RECIPIENT"

// DroppedMeaning explains to people why a delivery was dropped after a wait. Empty: it was not
// dropped.
func DroppedMeaning(reason string, channel Channel, userType UserType) string {
	if reason == NoLongerRecipient {
		return "the recipient had left: not in the directory, not active, erased, or no longer a member of the entity that the event concerns"
	}
	if r, found := ruleOf(Decision(reason)); found && !r.settled {
		return filled(r.meaning, channel, userType)
	}
	return ""
}

// DroppedRemedy tells what to change before a retry of a dropped delivery can succeed. Empty: an
// operator's retry, perhaps with --again, overrides the reason.
func DroppedRemedy(reason string, channel Channel) string {
	if r, found := ruleOf(Decision(reason)); found && r.ordered && !r.again {
		return filled(r.remedy, channel, "")
	}
	return ""
}

// Held reports whether the verdict forbids sending, for now or for good.
func (v Verdict) Held() bool { return v.Dropped != "" || !v.NotBefore.IsZero() }

// Until returns the verdict with a wait that ends when the delivery expires, at the latest. The delivery
// then ends. The zero time: it never expires.
func (v Verdict) Until(expires time.Time) Verdict {
	if !expires.IsZero() && v.NotBefore.After(expires) {
		v.NotBefore = expires.UTC()
	}
	return v
}

// Evaluate applies again the rules that planned the delivery. It skips the rules that planning
// settles for good. If an operator ordered the delivery, only the rules that bind operators
// apply.
func (c AttemptCheck) Evaluate(now time.Time) Verdict {
	if c.Withdrawn != "" && !c.Again {
		return Verdict{Dropped: c.Withdrawn}
	}
	if !c.Known || !c.Active || (!c.Member && !c.Ordered) {
		return Verdict{Dropped: NoLongerRecipient}
	}
	facts := c.Setup.Facts(c.Recipient, c.Channel, now, nil)
	facts.ExpiresAt = c.ExpiresAt
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
