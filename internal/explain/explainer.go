// Package explain reads what the database and Temporal know about an event or a delivery, and
// explains its state. It returns values for its callers to print.
package explain

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
	"herald/internal/template"
)

// Explainer reads events and deliveries. It changes nothing.
type Explainer struct {
	DB          *db.DB
	Temporal    client.Client // nil: out of reach
	Namespace   string        // in Temporal; empty: the default namespace
	Unreachable error         // why Temporal is nil
	Texts       template.Engine
}

func (e Explainer) reader() report.Reader { return report.Reader{Pool: e.DB.Pool} }

// actions reads what operators did to an event or a delivery.
func (e Explainer) actions(ctx context.Context, target string) ([]list.Action, error) {
	page, err := list.Reader{Pool: e.DB.Pool}.Actions(ctx, list.ActionFilter{Target: target}, list.Place{Limit: shownActions})
	return page.Rows, err
}

const (
	// shownRecipients limits the recipients that are read for an event.
	shownRecipients = 200
	// shownActions limits the operators' actions that are read for an event or a delivery.
	shownActions = 50
)

// EventView is everything known about an event.
type EventView struct {
	report.EventDetail
	Workflow WorkflowView      `json:"workflow"`
	Pending  []PendingActivity `json:"pending_activities,omitempty"` // the activities of a running workflow, without its children's
	Batches  []BatchView       `json:"batches,omitempty"`            // running batches
	Next     string            `json:"next,omitempty"`
	Actions  []list.Action     `json:"operator_actions"` // newest first

	Approval   *notification.Approval `json:"approval,omitempty"`   // nil: it needed none
	Simulation *Simulation            `json:"simulation,omitempty"` // of an event that waits for approval
}

// Event reads everything known about an event, with its first 200 recipients. If nothing is known,
// the error is [notification.ErrNoEvent].
func (e Explainer) Event(ctx context.Context, id string) (EventView, error) {
	view, err := e.event(ctx, id, 0)
	if err != nil || !view.AwaitsApproval() {
		return view, err
	}
	simulation, err := e.Simulate(ctx, SimulateRequest{EventID: id})
	view.Simulation = &simulation
	return view, err
}

// EventBriefly reads an event in limited time, however large the event is: it counts up to 10,000
// rows of each kind, and simulates nothing.
func (e Explainer) EventBriefly(ctx context.Context, id string) (EventView, error) {
	return e.event(ctx, id, 10_000)
}

func (e Explainer) event(ctx context.Context, id string, maxCounted int) (EventView, error) {
	detail, err := e.reader().EventDetail(ctx, id, shownRecipients, maxCounted)
	if err != nil {
		return EventView{}, advice.NoEvent(id, err)
	}
	actions, err := e.actions(ctx, id)
	if err != nil {
		return EventView{}, err
	}
	view := EventView{EventDetail: detail, Actions: actions}
	if view.Approval, err = planner.On(e.DB).Approval(ctx, id); err != nil {
		return EventView{}, err
	}
	var description *workflowservice.DescribeWorkflowExecutionResponse
	description, view.Workflow = e.eventExecution(ctx, id)
	view.Pending = pendingOf(description.GetPendingActivities())
	view.Batches = e.batches(ctx, description.GetPendingChildren())
	view.Next = view.next()
	return view, nil
}

// AwaitsApproval reports whether the event waits for an answer.
func (v EventView) AwaitsApproval() bool {
	return v.Approval != nil && v.Approval.Answer == "" && v.Processed != nil && v.Processed.Status == notification.Processing
}

// Cancels returns what happened to the event that this event cancels, such as "evt-1: 3 cancelled;
// 1 sent, and stay sent". Empty: this event cancels none.
func (v EventView) Cancels() string {
	if v.Outbox == nil || v.Outbox.Cancels == "" {
		return ""
	}
	if v.Outbox.CancelsUnknown {
		return v.Outbox.Cancels +
			": no event of this id is known. If one comes, nothing of it is sent; if the id is mistyped, write another event that cancels the " +
			"right one"
	}
	if len(v.Cancelled) == 0 {
		return v.Outbox.Cancels + ": it had no deliveries yet, and gets none"
	}
	return v.Outbox.Cancels + ": " + notification.CountsText(v.Cancelled)
}

// DeliveryView is everything known about a delivery.
type DeliveryView struct {
	report.DeliveryDetail
	Workflow Sending `json:"workflow"`

	Escalation *Escalation `json:"escalation,omitempty"` // the escalation of the delivery

	Ahead   string        `json:"quiet_hours_ahead,omitempty"` // how quiet hours affect the delivery when its wait ends
	Actions []list.Action `json:"operator_actions"`            // newest first
}

// Delivery reads everything known about a delivery. If there is none, the error is
// [notification.ErrNoDelivery].
func (e Explainer) Delivery(ctx context.Context, id string) (DeliveryView, error) {
	detail, err := e.reader().DeliveryDetail(ctx, id)
	if err != nil {
		return DeliveryView{}, advice.NoDelivery(id, err)
	}
	actions, err := e.actions(ctx, id)
	if err != nil {
		return DeliveryView{}, err
	}
	view := DeliveryView{DeliveryDetail: detail, Workflow: e.DeliveryWorkflow(ctx, detail), Actions: actions}
	if view.Escalation, err = e.escalation(ctx, id); err != nil {
		return DeliveryView{}, err
	}
	view.Ahead, err = e.ahead(ctx, detail, view.Workflow, time.Now())
	return view, refusedByDatabase(err)
}

// ahead tells how quiet hours affect a delivery when its wait ends, by the current rules; empty:
// not at all, or the delivery does not wait for its send time.
func (e Explainer) ahead(ctx context.Context, d report.DeliveryDetail, s Sending, now time.Time) (string, error) {
	until := d.SendAfter
	if s.Status == Running {
		until = s.WaitsUntil // an operator may have rescheduled it
	}
	if until == nil || !now.Before(*until) || s.DigestID != "" || d.Status != notification.Pending || d.Strategy == notification.Aggregate {
		return "", nil
	}
	check, err := attempt.On(e.DB).QuietCheck(ctx, d.DeliveryID)
	if err != nil {
		return "", err
	}
	return check.Ahead(*until, now), nil
}
