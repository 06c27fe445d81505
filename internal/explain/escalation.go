package explain

import (
	"context"
	"fmt"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/workflows"
)

// Escalation is the state of a delivery's escalation, which sends another delivery if necessary.
type Escalation struct {
	report.Escalation
	Workflow WorkflowView                   `json:"workflow"`                  // the escalation's workflow
	Details  string                         `json:"current_details,omitempty"` // what the workflow waits for, in its words
	Ended    notification.EscalationOutcome `json:"ended,omitempty"`           // empty: it has not ended, or its end is unknown
	Reason   string                         `json:"reason,omitempty"`          // why no delivery followed, if the rules decided so
}

// escalation reads the escalation of a delivery, in both directions; nil: there is none.
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

// Says describes the progress of an escalation: "waits until … to be read, then SMS"; empty:
// nothing escalates.
func (e *Escalation) Says() string {
	if e == nil || !e.Escalates {
		return ""
	}
	then := notification.Escalation{To: e.To, Until: e.Until}.Then()
	switch {
	case e.FollowedBy != "":
		return "it did not arrive, and " + e.FollowedBy + " follows"
	case e.Ended == notification.EscalationDropped:
		return fmt.Sprintf("nothing follows over %s: it is %s", e.To, e.Reason)
	case e.Ended != "":
		return "nothing follows: " + e.Ended.Meaning()
	case e.Details != "":
		return e.Details
	case e.Workflow.Status == Running && e.To != "":
		return "waits" + then
	case e.Workflow.Status == Unreachable && e.To != "":
		return "unknown, because Temporal is out of reach; it waits" + then + ", unless the wait has ended"
	case e.Workflow.Status == Unknown:
		return "no escalation runs: its event's workflow has not started it, or it ended long ago"
	default:
		return "nothing follows: its workflow is " + e.Workflow.Status
	}
}

// Follows returns the delivery that escalated to this one; empty: none.
func (e *Escalation) Follows() string {
	if e == nil {
		return ""
	}
	return e.From
}
