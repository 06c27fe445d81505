package console

import (
	"slices"

	"herald/internal/explain"
	"herald/internal/notification"
)

// offer is a change that a page offers.
type offer struct {
	Change, ID, Label string

	Denied string // why the person may not make it; empty: they may
}

func (p person) offer(change, id, label string) offer {
	return offer{change, id, label, p.denied(change)}
}

// offers are the changes that a page offers.
type offers []offer

// Denials returns why the person may not make some changes, each reason once.
func (o offers) Denials() (reasons []string) {
	for _, one := range o {
		if one.Denied != "" && !slices.Contains(reasons, one.Denied) {
			reasons = append(reasons, one.Denied)
		}
	}
	return reasons
}

// offersOfDelivery returns the changes that fit a delivery's status.
func offersOfDelivery(p person, id string, status notification.Status) offers {
	if status != notification.Pending {
		return offers{p.offer("delivery retry", id, "Send it again …")}
	}
	return offers{
		p.offer("delivery send-now", id, "Send now …"), p.offer("delivery cancel", id, "Cancel …"),
		p.offer("delivery reschedule", id, "Reschedule …"),
	}
}

// offersOfEvent returns the changes that fit an event's state. Who caused an event cannot approve it.
func offersOfEvent(p person, view explain.EventView) offers {
	var all offers
	running := view.Workflow.Status == explain.Running
	if view.AwaitsApproval() {
		approve := p.offer("event approve", view.EventID, "Approve …")
		if approve.Denied == "" && view.Approval != nil && view.Approval.IsOf(p.Name) {
			approve.Denied = "You caused this event, so somebody else has to approve it."
		}
		all = append(all, approve, p.offer("event reject", view.EventID, "Reject …"))
	}
	if running || view.Processed == nil {
		all = append(all, p.offer("event cancel", view.EventID, "Cancel …"))
	}
	if !running {
		all = append(all, p.offer("event retry", view.EventID, "Retry …"))
	}
	return all
}
