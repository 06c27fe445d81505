package notification

import (
	"slices"
	"time"
)

// Waited is a delivery that was planned a while ago, with all that may have
// changed since, as it is now.
type Waited struct {
	DeliveryID    string
	Case               // Routing nil: its type goes over the channel no longer, which leaves it optional
	Known, Active bool // the recipient, in the directory
	Member        bool // of the entity through which they were to be told; true where that takes no membership
	JudgeQuiet    bool
	Ordered       bool // by an operator: then only the recipient and their address are asked for
}

// Verdict is what the rules say about a delivery that waited. The zero value: it
// may be sent.
type Verdict struct {
	Dropped   string    // not empty: it is not to be sent, for this reason: a [Decision], or one of the texts below
	NotBefore time.Time // set: it is quiet until then
	Wait      string    // the same for people
}

// NoLongerRecipient is why somebody is not told who left: they are not active, not
// in the directory, or no longer a member of the entity that the event concerns.
const NoLongerRecipient = "no longer a recipient"

// DroppedMeaning says as a sentence for people why a delivery was dropped after a
// wait; empty: it was not.
func DroppedMeaning(reason string, channel Channel, userType UserType) string {
	decision := Decision(reason)
	switch {
	case reason == NoLongerRecipient:
		return "the recipient had left: not in the directory, not active, or no longer a member of the entity that the event concerns"
	case reason == WaitQuietHours:
		return DecisionQuietHours.Meaning(channel, userType)
	case slices.Contains([]Decision{DecisionUnsupported, DecisionUserDisabled, DecisionGroupDisabled, DecisionRoleRestricted, DecisionNoAddress}, decision):
		return decision.Meaning(channel, userType)
	default:
		return ""
	}
}

// Held says that a delivery may not be sent, not now or not at all.
func (v Verdict) Held() bool { return v.Dropped != "" || !v.NotBefore.IsZero() }

// Judge applies the rules by which the delivery was planned once more.
// max_recipients is not one of them: its place was given then.
func (w Waited) Judge(now time.Time) Verdict {
	switch {
	case !w.Known || !w.Active || (!w.Member && !w.Ordered):
		return Verdict{Dropped: NoLongerRecipient}
	case w.Ordered && w.Reachable():
		return Verdict{}
	case w.Ordered:
		return Verdict{Dropped: string(DecisionNoAddress)}
	}
	choice := w.choice(now)
	switch {
	case choice.Decision == DecisionQuietHours:
		return Verdict{Dropped: WaitQuietHours}
	case choice.Decision != DecisionSelected:
		return Verdict{Dropped: string(choice.Decision)}
	case choice.Wait.Until.IsZero():
		return Verdict{}
	default:
		return Verdict{
			NotBefore: choice.SendAfter(w.DeliveryID).UTC(),
			Wait:      WaitText(choice.Wait.Until, now, w.Recipient.Timezone, WaitQuietHours),
		}
	}
}

// choice is what the planner would choose now, whose delay is over and who counts
// nobody.
func (w Waited) choice(now time.Time) Choice {
	c, route := w.Case, Routing{Channel: w.Channel}
	if w.Routing != nil {
		route.Mandatory, route.QuietHoursAction = w.Routing.Mandatory, w.Routing.QuietHoursAction
	}
	c.Routing = &route
	c.Settings, c.Recipient.Preferences = slices.Clone(c.Settings), slices.Clone(c.Recipient.Preferences)
	for i := range c.Settings {
		c.Settings[i].MaxRecipients = nil
		if !w.JudgeQuiet {
			c.Settings[i].QuietHours = nil
		}
	}
	for i := range c.Recipient.Preferences {
		if !w.JudgeQuiet {
			c.Recipient.Preferences[i].QuietHours = nil
		}
	}
	return c.Judge(now)
}
