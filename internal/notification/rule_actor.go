package notification

import "slices"

// DecisionActor means that the recipient's own act caused the event. It also applies to mandatory
// channels.
const DecisionActor Decision = "ACTOR"

var actor = rule{
	decision: DecisionActor,
	applies:  func(f Facts) bool { return f.Acted && !f.Direct && !f.Routing.TellActor },
	meaning:  "they caused the event (actor_type, actor_id), and who did it is not told over {channel}",
	remedy:   "set tell_actor to true (event_type_channel_routing), or let the producer leave the actor out",
	subject:  "who acted",
	fact: func(f Facts) string {
		switch {
		case !f.Acted:
			return "it was not them, or the event does not say"
		case f.Direct:
			return "it was them, and the event names them as CUSTOMER"
		case f.Routing.TellActor:
			return "it was them, and tell_actor is true"
		default:
			return "it was them"
		}
	},
	settled: true, // the event does not change
}

// namesDirectly reports whether the event names a customer, and not a group or a kind of people.
func (s EventSetup) namesDirectly(key RecipientKey) bool {
	targets, _ := Targets(s.Event, s.Recipients)
	return key.UserType == Customer && slices.ContainsFunc(targets, func(t Target) bool {
		return t.Entity == Entity{Type: EntityCustomer, ID: key.UserID}
	})
}
