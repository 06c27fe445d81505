package answer

import (
	"context"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
)

// EventRequest names an event.
type EventRequest struct {
	ID    string `json:"id" jsonschema:"the event's id, such as evt-1"`
	Limit int    `json:"limit,omitempty" jsonschema:"the number of recipients to show, at most 200; default 50"`
}

// Event is an event without its payload, and without the errors of others.
type Event struct {
	ID         string                      `json:"event_id"`
	Outbox     *Outbox                     `json:"outbox"`          // null: the row was purged
	Processed  *Processed                  `json:"processed_event"` // null: it was not started yet
	Deliveries map[notification.Status]int `json:"deliveries"`      // all, by status
	ReadBy     int                         `json:"read_by"`         // recipients
	Recipients []Recipient                 `json:"recipients"`
	More       int                         `json:"more_recipients"`
	AtLeast    bool                        `json:"more_than_counted"` // the event is so large that the counts are lower bounds
	Workflow   Workflow                    `json:"workflow"`
	Approval   notification.ApprovalAnswer `json:"approval,omitempty"` // a person's answer; empty: none
	Awaits     bool                        `json:"awaits_approval"`    // a person has to answer: `starter event approve` or `reject`
	Next       string                      `json:"next"`               // what happens next; empty: nothing
}

// Outbox is an event's row in the outbox.
type Outbox struct {
	EventType      string                    `json:"event_type"`
	Aggregate      string                    `json:"aggregate"` // as RESTAURANT/5; empty: none
	CorrelationID  string                    `json:"correlation_id"`
	Source         string                    `json:"source"`
	Status         notification.OutboxStatus `json:"status"`
	HasError       bool                      `json:"has_error"` // `starter event show` has it
	Claims         int                       `json:"claims"`
	CreatedAt      time.Time                 `json:"created_at"`
	PublishedAt    *time.Time                `json:"published_at"`
	AcknowledgedAt *time.Time                `json:"acknowledged_at"`
	ExpiresAt      *time.Time                `json:"expires_at"`
	Cancels        string                    `json:"cancels"`      // the event that it cancels; empty: none
	CancelledBy    string                    `json:"cancelled_by"` // the event that cancels it; empty: none
}

// Processed holds the end of an event.
type Processed struct {
	Status    notification.ProcessedStatus `json:"status"`
	Outcome   notification.EventOutcome    `json:"outcome"` // empty: it reached people without a problem, or has not ended
	CreatedAt time.Time                    `json:"created_at"`
	UpdatedAt time.Time                    `json:"updated_at"`
}

// Recipient holds the decisions about one recipient, and their deliveries.
type Recipient struct {
	Recipient  string                                         `json:"recipient"` // as CUSTOMER/7
	DecidedAt  time.Time                                      `json:"decided_at"`
	Decisions  map[notification.Channel]notification.Decision `json:"decisions"`
	Deliveries map[notification.Channel]RecipientDelivery     `json:"deliveries"`
}

// RecipientDelivery is one delivery of a [Recipient].
type RecipientDelivery struct {
	ID        string              `json:"delivery_id"`
	Status    notification.Status `json:"status"`
	Attempts  int                 `json:"attempts"`
	SendAfter *time.Time          `json:"send_after"`
	SentAt    *time.Time          `json:"sent_at"`
	ReadAt    *time.Time          `json:"read_at"`
}

// Event reads an event in limited time, however large it is.
func (r Reader) Event(ctx context.Context, in EventRequest) (Event, error) {
	limit, err := limited(in.Limit, most)
	if err != nil {
		return Event{}, err
	}
	view, err := r.Explain.EventBriefly(ctx, in.ID)
	if err != nil {
		return Event{}, err
	}
	shown := view.Recipients[:min(limit, len(view.Recipients))]
	found := Event{
		ID: view.EventID, Outbox: outboxOf(view.Outbox), Processed: processedOf(view.Processed), Deliveries: view.Deliveries.ByStatus,
		ReadBy: view.Deliveries.ReadBy, Recipients: each(shown, recipient), More: view.More + len(view.Recipients) - len(shown),
		AtLeast: view.AtLeast, Workflow: workflowOf(view.Workflow, view.Pending), Awaits: view.AwaitsApproval(), Next: view.Next,
	}
	if view.Approval != nil {
		found.Approval = view.Approval.Answer
	}
	return found, nil
}

func outboxOf(o *report.LeasedRow) *Outbox {
	if o == nil {
		return nil
	}
	return &Outbox{
		EventType: o.EventType, Aggregate: o.Aggregate(), CorrelationID: o.CorrelationID, Source: o.Source, Status: o.Status,
		HasError: o.ErrorMessage != "", Claims: o.AttemptCount, CreatedAt: o.CreatedAt, PublishedAt: o.PublishedAt,
		AcknowledgedAt: o.AcknowledgedAt, ExpiresAt: o.ExpiresAt, Cancels: o.Cancels, CancelledBy: o.CancelledBy,
	}
}

func processedOf(p *report.ProcessedRow) *Processed {
	if p == nil {
		return nil
	}
	return &Processed{p.Status, p.Outcome, p.CreatedAt, p.UpdatedAt}
}

func recipient(r report.RecipientDetail) Recipient {
	found := Recipient{r.Name(), r.DecidedAt, r.Decisions, map[notification.Channel]RecipientDelivery{}}
	for channel, d := range r.Deliveries {
		found.Deliveries[channel] = RecipientDelivery{d.DeliveryID, d.Status, d.Attempts, d.SendAfter, d.SentAt, d.ReadAt}
	}
	return found
}
