package notification

import (
	"fmt"
	"time"
)

// Case is what decides about one recipient and one channel of an event, at one
// moment.
type Case struct {
	Channel   Channel
	Routing   *Routing   // nil: the event's type is not routed over the channel
	Served    []UserType // whom the channel may serve
	Recipient Recipient
	Settings  []Setting // of their entity
}

// Judge applies the rules. Those who were selected before are not known to it:
// max_recipients of 1 and more binds nobody. Without a routing row the decision
// is empty.
func (c Case) Judge(now time.Time) Choice {
	if c.Routing == nil {
		return Choice{Channel: c.Channel}
	}
	rules := Rules{
		Routing:   []Routing{*c.Routing},
		Supported: map[Channel][]UserType{c.Channel: c.Served},
		Settings:  c.Settings,
	}
	return rules.Decide(c.Recipient, now, Used{})[0]
}

// Setting is the entity's row that holds for the recipient, or what holds where
// there is none.
func (c Case) Setting() Setting {
	return Rules{Settings: c.Settings}.setting(c.Recipient, c.Channel)
}

// Preference is the recipient's row for the channel, or what holds where there
// is none.
func (c Case) Preference() Preference { return c.Recipient.preference(c.Channel) }

// Reachable says that the recipient has an address for the channel, or needs none.
func (c Case) Reachable() bool { return c.Recipient.reachable(c.Channel) }

// Meaning is what a decision about a channel said when it was taken, as a
// sentence for people.
func (d Decision) Meaning(channel Channel, userType UserType) string {
	switch d {
	case DecisionUnsupported:
		return fmt.Sprintf("%s may not serve a recipient of type %s", channel, userType)
	case DecisionUserDisabled:
		return fmt.Sprintf("the recipient had switched %s off, and it is not mandatory for this event type", channel)
	case DecisionGroupDisabled:
		return fmt.Sprintf("their entity had switched %s off, and it is not mandatory for this event type", channel)
	case DecisionRoleRestricted:
		return fmt.Sprintf("their entity allows %s to certain roles only, and theirs was none of them", channel)
	case DecisionQuietHours:
		return "it was quiet hours for them or their entity, and what comes in quiet hours is dropped"
	case DecisionMaxRecipients:
		return fmt.Sprintf("as many recipients as their entity allows had been chosen for %s before them", channel)
	case DecisionNoAddress:
		return "they had " + channel.addressWord(false)
	case DecisionSelected:
		return "they were chosen to be told over " + string(channel)
	default:
		return "an unknown decision"
	}
}

// Remedy is what to change so that the next event is decided otherwise.
func (d Decision) Remedy(channel Channel) string {
	switch d {
	case DecisionUnsupported:
		return "add the channel and the user type to channel_user_type"
	case DecisionUserDisabled:
		return "let them switch it on (user_notification_preferences), or make it mandatory (event_type_channel_routing)"
	case DecisionGroupDisabled:
		return "switch it on for their entity (entity_notification_settings), or make it mandatory (event_type_channel_routing)"
	case DecisionRoleRestricted:
		return "add their role to allowed_roles (entity_notification_settings)"
	case DecisionQuietHours:
		return "set quiet_hours_action to DEFER (event_type_channel_routing), so that it waits until they end: 48 hours at most"
	case DecisionMaxRecipients:
		return "raise max_recipients (entity_notification_settings), or make it mandatory (event_type_channel_routing)"
	case DecisionNoAddress:
		return channel.row().remedy
	default:
		return ""
	}
}

// AddressWord is what a channel reaches somebody by, and whether they have it:
// "an e-mail address", "no e-mail address".
func (c Case) AddressWord() string { return c.Channel.addressWord(c.Reachable()) }
