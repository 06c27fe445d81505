// Package explain says what became of an event or of a delivery: what the database
// and Temporal know of it. It returns values, which others print.
package explain

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// Explainer reads what there is to know. It changes nothing.
type Explainer struct {
	Store       *postgres.Store
	Temporal    client.Client // nil: it is out of reach
	Namespace   string        // of Temporal; empty: its default
	Unreachable error         // why Temporal is nil
}

func (e Explainer) reader() report.Reader { return report.Reader{Pool: e.Store.Pool} }

const (
	// shownRecipients bounds the recipients of an event.
	shownRecipients = 200
	// shownActions bounds what operators did to one event or one delivery.
	shownActions = 50
)

// EventView is all that is known of an event.
type EventView struct {
	report.EventDetail
	Workflow WorkflowView      `json:"workflow"`
	Pending  []PendingActivity `json:"pending_activities,omitempty"` // what a running workflow is doing, apart from its children
	Batches  []BatchView       `json:"batches,omitempty"`            // that run
	Next     string            `json:"next,omitempty"`
	Actions  []report.Action   `json:"operator_actions"` // the latest first
}

// Event reads all that is known of an event, with its first 200 recipients. Where
// nothing is known, the error is [notification.ErrNoEvent].
func (e Explainer) Event(ctx context.Context, id string) (EventView, error) {
	detail, err := e.reader().EventDetail(ctx, id, shownRecipients)
	if err != nil {
		return EventView{}, advice.NoEvent(id, err)
	}
	actions, err := e.reader().Actions(ctx, report.ActionFilter{Target: id}, shownActions)
	if err != nil {
		return EventView{}, err
	}
	view := EventView{EventDetail: detail, Actions: actions}
	var description *workflowservice.DescribeWorkflowExecutionResponse
	description, view.Workflow = e.eventExecution(ctx, id)
	view.Pending = pendingOf(description.GetPendingActivities())
	view.Batches = e.batches(ctx, description.GetPendingChildren())
	view.Next = view.next()
	return view, nil
}

// Cancels says what became of the event that this one takes back: "evt-1: 3 cancelled;
// 1 sent, and stays sent"; empty: it takes none back.
func (v EventView) Cancels() string {
	if v.Outbox == nil || v.Outbox.Cancels == "" {
		return ""
	}
	if v.Outbox.CancelsUnknown {
		return v.Outbox.Cancels + ": no event of this id is known. If one comes, nothing of it is sent; if the id is mistyped, write another event that cancels the right one"
	}
	if len(v.Cancelled) == 0 {
		return v.Outbox.Cancels + ": it had no deliveries yet, and gets none"
	}
	return v.Outbox.Cancels + ": " + notification.CountsText(v.Cancelled)
}

// DeliveryView is all that is known of a delivery.
type DeliveryView struct {
	report.DeliveryDetail
	Workflow Sending `json:"workflow"`

	Escalation *Escalation `json:"escalation,omitempty"` // what waits next to it

	Ahead   string          `json:"quiet_hours_ahead,omitempty"` // what they will do when its wait ends
	Actions []report.Action `json:"operator_actions"`            // the latest first
}

// Delivery reads all that is known of a delivery. Where there is none, the error is
// [notification.ErrNoDelivery].
func (e Explainer) Delivery(ctx context.Context, id string) (DeliveryView, error) {
	detail, err := e.reader().DeliveryDetail(ctx, id)
	if err != nil {
		return DeliveryView{}, advice.NoDelivery(id, err)
	}
	actions, err := e.reader().Actions(ctx, report.ActionFilter{Target: id}, shownActions)
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

// ahead says what quiet hours will do to a delivery when its wait ends, by the rules as
// they are now; empty: nothing, or it does not wait for its own time.
func (e Explainer) ahead(ctx context.Context, d report.DeliveryDetail, s Sending, now time.Time) (string, error) {
	until := d.SendAfter
	if s.Status == Running {
		until = s.WaitsUntil // an operator may have given it another time
	}
	if until == nil || !now.Before(*until) || s.DigestID != "" || d.Status != notification.Pending || d.Strategy == notification.Aggregate {
		return "", nil
	}
	check, err := e.Store.QuietCheck(ctx, d.DeliveryID)
	if err != nil {
		return "", err
	}
	return check.Ahead(*until, now), nil
}
