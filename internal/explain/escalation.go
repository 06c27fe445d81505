package explain

import (
	"context"
	"fmt"

	"herald/internal/notification"
	"herald/internal/postgres/report"
	"herald/workflows"
)

// Escalation waits next to a delivery whether another one has to follow it.
type Escalation struct {
	report.Escalation
	Workflow WorkflowView                   `json:"workflow"`                  // that waits
	Details  string                         `json:"current_details,omitempty"` // what that says it waits for
	Ended    notification.EscalationOutcome `json:"ended,omitempty"`           // empty: it has not, or that is not known
	Reason   string                         `json:"reason,omitempty"`          // why nothing followed, where the rules said so
}

// escalation reads what follows a delivery, or may; nil: nothing, and it follows none.
func (e Explainer) escalation(ctx context.Context, deliveryID string) (*Escalation, error) {
	row, err := e.reader().Escalation(ctx, deliveryID)
	if err != nil || row == (report.Escalation{}) {
		return nil, err
	}
	found := &Escalation{Escalation: row}
	if !row.Escalates {
		return found, nil
	}
	var result workflows.EscalateResult
	id := workflows.EscalationID(deliveryID)
	_, found.Workflow = e.execution(ctx, id, &result)
	found.Ended, found.Reason = result.Outcome, result.Reason
	if found.Workflow.Status == Running {
		found.Details = e.currentDetails(ctx, id, found.Workflow.RunID)
	}
	return found, nil
}

// Says is the progress of an escalation: "waits until … to be read, then SMS"; empty: nothing
// escalates.
func (e *Escalation) Says() string {
	if e == nil || !e.Escalates {
		return ""
	}
	then := notification.Escalation{To: e.To, Until: e.Until}.Then()
	switch {
	case e.FollowedBy != "":
		return "it did not get there, and " + e.FollowedBy + " follows"
	case e.Ended == notification.EscalationDropped:
		return fmt.Sprintf("nothing follows: %s would have, and it is %s", e.To, e.Reason)
	case e.Ended != "":
		return "nothing follows: " + e.Ended.Meaning()
	case e.Details != "":
		return e.Details
	case e.Workflow.Status == Running && e.To != "":
		return "waits" + then
	case e.Workflow.Status == Unreachable && e.To != "":
		return "not known, since Temporal is out of reach; it waits" + then + ", unless that has ended"
	case e.Workflow.Status == Unknown:
		return "nothing waits for it: its event's workflow starts that, or it has ended long ago"
	default:
		return "nothing follows: its workflow is " + e.Workflow.Status
	}
}

// Follows is the delivery that a delivery follows; empty: none.
func (e *Escalation) Follows() string {
	if e == nil {
		return ""
	}
	return e.From
}
