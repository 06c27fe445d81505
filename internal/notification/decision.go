package notification

import (
	"maps"
	"slices"
	"time"
)

// Decision is what the rules said about one recipient and one channel.
type Decision string

// The decisions. The first that applies is taken, in this order.
const (
	DecisionUnsupported    Decision = "UNSUPPORTED"     // the channel may not serve the user type
	DecisionUserDisabled   Decision = "USER_DISABLED"   // the recipient switched it off
	DecisionGroupDisabled  Decision = "GROUP_DISABLED"  // the entity switched it off
	DecisionRoleRestricted Decision = "ROLE_RESTRICTED" // the entity allows it to other roles only
	DecisionQuietHours     Decision = "QUIET_HOURS"     // dropped: the recipient wants no noise now
	DecisionMaxRecipients  Decision = "MAX_RECIPIENTS"  // the entity allows no further recipient
	DecisionNoAddress      Decision = "NO_ADDRESS"      // the recipient cannot be reached over it
	DecisionSelected       Decision = "SELECTED"
)

// Choice is what the rules decided about one channel. Only a selected one has
// more than the first two fields.
type Choice struct {
	Channel  Channel
	Decision Decision
	Strategy Strategy
	Priority Priority
	Wait     Silence // what it waits for; Until zero: nothing
}

// SendAfter is when to send a selected delivery of this key; zero: at once.
func (c Choice) SendAfter(key string) time.Time {
	if c.Wait.Until.IsZero() {
		return time.Time{}
	}
	return c.Wait.Release(key)
}

// Rules is all that decides about an event's recipients, beside themselves.
type Rules struct {
	Routing   []Routing // of the event's type
	Supported map[Channel][]UserType
	Settings  []Setting // those for every event type, and those for the event's own
}

// Used counts the recipients who were selected so far, by entity and channel
// ("RESTAURANT/5 EMAIL"). It travels from one page of recipients to the next.
type Used map[string]int

// Clone returns a copy, which is never nil.
func (u Used) Clone() Used {
	clone := make(Used, len(u))
	maps.Copy(clone, u)
	return clone
}

// Decide returns one choice for each routing row, in the order of [Channels].
// It counts the selected ones in used, which must not be nil: recipients are to
// be decided about in the order in which max_recipients prefers them.
func (r Rules) Decide(recipient Recipient, now time.Time, used Used) []Choice {
	var choices []Choice
	for _, channel := range Channels() {
		for _, route := range r.Routing {
			if route.Channel == channel {
				choices = append(choices, r.choose(recipient, route, now, used))
			}
		}
	}
	return choices
}

// choose is the seven rules, in their order.
func (r Rules) choose(recipient Recipient, route Routing, now time.Time, used Used) Choice {
	channel, optional := route.Channel, !route.Mandatory
	preference := recipient.preference(channel)
	setting := r.setting(recipient, channel)
	silence := Quiet(preference, recipient.Timezone, now, setting)

	decision := DecisionSelected
	switch {
	case !slices.Contains(r.Supported[channel], recipient.UserType):
		decision = DecisionUnsupported
	case optional && !preference.Enabled:
		decision = DecisionUserDisabled
	case optional && !setting.Enabled:
		decision = DecisionGroupDisabled
	case !setting.allows(recipient.Role):
		decision = DecisionRoleRestricted
	case silence.Quiet && !route.defers(silence):
		decision = DecisionQuietHours
	case optional && setting.exhausted(used):
		decision = DecisionMaxRecipients
	case !recipient.reachable(channel):
		decision = DecisionNoAddress
	}
	if decision != DecisionSelected {
		return Choice{Channel: channel, Decision: decision}
	}

	used[setting.key()]++
	return Choice{
		Channel:  channel,
		Decision: decision,
		Strategy: route.Strategy,
		Priority: route.priority(preference),
		Wait:     route.wait(now, silence),
	}
}
