package answer

import (
	"context"
	"time"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
)

// DeliveryRequest names a delivery.
type DeliveryRequest struct {
	ID    string `json:"id" jsonschema:"the delivery's id, such as evt-1-staff10-EMAIL"`
	Limit int    `json:"limit,omitempty" jsonschema:"the number of attempts, receipts and retries to show, at most 50; default 50"`
}

// Delivery is a delivery without its address, its text and the words of its provider.
type Delivery struct {
	ID            string                `json:"delivery_id"`
	EventID       string                `json:"event_id"`
	EventType     string                `json:"event_type"`
	CorrelationID string                `json:"correlation_id"`
	Recipient     string                `json:"recipient"` // as CUSTOMER/7
	Channel       notification.Channel  `json:"channel"`
	Status        notification.Status   `json:"status"`
	Strategy      notification.Strategy `json:"strategy"`
	Priority      notification.Priority `json:"priority"`
	AttemptCount  int                   `json:"attempts"`
	Provider      string                `json:"provider"` // that has the message, or may have it; empty: none
	HasText       bool                  `json:"has_text"` // false: it could not be rendered
	HasError      bool                  `json:"has_error"`
	DigestID      string                `json:"digest_id"`
	ReplacedBy    string                `json:"replaced_by"` // the newer event that took its place; empty: none
	CreatedAt     time.Time             `json:"created_at"`
	SendAfter     *time.Time            `json:"send_after"`
	ExpiresAt     *time.Time            `json:"expires_at"`
	SentAt        *time.Time            `json:"sent_at"`
	DeliveredAt   *time.Time            `json:"delivered_at"`
	ReadAt        *time.Time            `json:"read_at"`
	Attempts      []Attempt             `json:"attempt_log"` // the latest, oldest first
	Receipts      []Receipt             `json:"receipts"`
	Retries       []Retry               `json:"retries"` // by operators
	Workflow      *Workflow             `json:"workflow,omitempty"`
	Escalation    *Escalation           `json:"escalation,omitempty"`
}

// Attempt is an attempt at a delivery.
type Attempt struct {
	Attempt        int                         `json:"attempt"`
	StartedAt      time.Time                   `json:"started_at"`
	EndedAt        *time.Time                  `json:"ended_at"` // null: in flight, or its process died
	Outcome        notification.AttemptOutcome `json:"outcome"`
	ProviderStatus int                         `json:"provider_status"` // 0: no answer
	TookSeconds    *float64                    `json:"took_seconds"`    // null: the provider was not called
}

// Receipt is a provider's report on a message.
type Receipt struct {
	At       time.Time           `json:"at"`
	Provider string              `json:"provider"`
	Outcome  notification.Status `json:"outcome"` // empty: it changes no status
	Earlier  bool                `json:"of_earlier_message"`
}

// Retry is a retry by an operator.
type Retry struct {
	At           time.Time           `json:"retried_at"`
	Again        bool                `json:"again"`
	StatusBefore notification.Status `json:"status_before"`
}

// Workflow is Temporal's view of a workflow.
type Workflow struct {
	Status     string     `json:"status"`
	RunID      string     `json:"run_id,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	ClosedAt   *time.Time `json:"closed_at,omitempty"`
	WaitsUntil *time.Time `json:"waits_until,omitempty"`
	TaskQueue  string     `json:"task_queue,omitempty"`
	Workers    int        `json:"workers,omitempty"` // running workers of the task queue
	Pending    []Pending  `json:"pending_activities,omitempty"`
}

// Pending is an activity that has not ended.
type Pending struct {
	Activity    string     `json:"activity"`
	State       string     `json:"state"`
	Attempt     int32      `json:"attempt"`
	NextAttempt *time.Time `json:"next_attempt_at,omitempty"`
	Failed      bool       `json:"failed"` // its last attempt
}

// Escalation holds the steps after a delivery that does not arrive.
type Escalation struct {
	To         notification.Channel           `json:"to,omitempty"`
	Until      notification.EscalationUntil   `json:"until,omitempty"`
	Follows    string                         `json:"follows,omitempty"`     // the delivery that it follows
	FollowedBy string                         `json:"followed_by,omitempty"` // a delivery
	Ended      notification.EscalationOutcome `json:"ended,omitempty"`
}

// Delivery reads a delivery.
func (r Reader) Delivery(ctx context.Context, in DeliveryRequest) (Delivery, error) {
	limit, err := limited(in.Limit, mostLog)
	if err != nil {
		return Delivery{}, err
	}
	view, err := r.Explain.Delivery(ctx, in.ID)
	if err != nil {
		return Delivery{}, err
	}
	return deliveryOf(view.DeliveryDetail, &view.Workflow, view.Escalation, limit), nil
}

func deliveryOf(d report.DeliveryDetail, workflow *explain.Sending, escalation *explain.Escalation, limit int) Delivery {
	found := Delivery{
		ID: d.DeliveryID, EventID: d.EventID, EventType: d.EventType, CorrelationID: d.CorrelationID, Recipient: d.Recipient(),
		Channel: d.Channel, Status: d.Status, Strategy: d.Strategy, Priority: d.Priority, AttemptCount: d.Attempts, Provider: d.Provider,
		HasText: d.HasText, HasError: d.LastError != "", DigestID: d.DigestID, ReplacedBy: d.ReplacedBy, CreatedAt: d.CreatedAt,
		SendAfter: d.SendAfter, ExpiresAt: d.ExpiresAt, SentAt: d.SentAt, DeliveredAt: d.DeliveredAt, ReadAt: d.ReadAt,
	}
	found.Attempts = each(last(d.Log, limit), func(a report.AttemptRow) Attempt {
		return Attempt{a.Attempt, a.StartedAt, a.EndedAt, a.Outcome, a.ProviderStatus, a.TookSeconds}
	})
	found.Receipts = each(last(d.Receipts, limit), func(r report.ReceiptRow) Receipt {
		return Receipt{r.At, r.Provider, r.Outcome, r.Earlier}
	})
	found.Retries = each(last(d.Retries, limit), func(r report.RetryRow) Retry { return Retry{r.RetriedAt, r.Again, r.StatusBefore} })
	if workflow != nil {
		seen := workflowOf(workflow.WorkflowView, workflow.Pending)
		seen.WaitsUntil, seen.TaskQueue, seen.Workers = workflow.WaitsUntil, workflow.TaskQueue, workflow.Workers
		found.Workflow = &seen
	}
	if e := escalation; e != nil {
		found.Escalation = &Escalation{e.To, e.Until, e.From, e.FollowedBy, e.Ended}
	}
	return found
}

func workflowOf(w explain.WorkflowView, pending []explain.PendingActivity) Workflow {
	return Workflow{
		Status: w.Status, RunID: w.RunID, StartedAt: w.StartedAt, ClosedAt: w.ClosedAt,
		Pending: each(pending, func(p explain.PendingActivity) Pending {
			return Pending{p.Activity, p.State, p.Attempt, p.NextAttempt, p.LastFailure != ""}
		}),
	}
}

// each returns f of each value; never nil.
func each[From, To any](values []From, f func(From) To) []To {
	to := make([]To, 0, len(values))
	for _, value := range values {
		to = append(to, f(value))
	}
	return to
}

func last[T any](values []T, limit int) []T { return values[max(0, len(values)-limit):] }
