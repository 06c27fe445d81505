package notification

import "fmt"

// DecisionMuted means that the recipient has muted the entity through which the event names them, or
// follows it for what is important only.
const DecisionMuted Decision = "MUTED"

var muted = rule{
	decision: DecisionMuted,
	applies: func(f Facts) bool {
		return !f.Routing.Mandatory && (f.Recipient.hasMuted() || f.Recipient.ImportantOnly && f.Routing.Priority != High)
	},
	meaning: "the recipient had muted the entity that the event concerns, or follows it for what is important only, and {channel} is not " +
		"mandatory for this event type",
	remedy: "let them unmute it, or follow it at the level ALL (entity_mute, entity_follow); or make the channel mandatory, or its priority " +
		"HIGH for who follows (event_type_channel_routing)",
	subject: "mute",
	fact: func(f Facts) string {
		r := f.Recipient
		switch important := fmt.Sprintf("they follow %s at the level IMPORTANT", r.Entity); {
		case r.hasMuted():
			return fmt.Sprintf("they have muted %s", r.Entity)
		case r.ImportantOnly && f.Routing.Priority == High:
			return important + ", and the priority is HIGH"
		case r.ImportantOnly:
			return important + ", and the priority is not HIGH"
		case r.Entity.Type == "":
			return "the entity is unknown, so Herald cannot tell whether they muted it"
		default:
			return fmt.Sprintf("%s is not muted", r.Entity)
		}
	},
}

// hasMuted reports whether the recipient has muted the entity. A mute of an entity that is the recipient
// does not count.
func (r Recipient) hasMuted() bool {
	return r.Muted && !r.Entity.is(RecipientKey{UserType: r.UserType, UserID: r.UserID})
}
