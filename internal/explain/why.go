package explain

import (
	"context"
	"errors"
	"time"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/reason"
	"herald/internal/report"
)

// Why explains the decision about one recipient and one channel of an event, its result, and what
// happens next. It holds no address and no text.
type Why struct {
	EventID       string                 `json:"event_id"`
	EventType     string                 `json:"event_type"`
	Outbox        *report.LeasedRow      `json:"outbox"`          // null: the row was purged
	Processed     *report.ProcessedRow   `json:"processed_event"` // null: the event was not started yet
	Recipient     string                 `json:"recipient"`
	Channel       notification.Channel   `json:"channel"`
	Decision      notification.Decision  `json:"decision"` // empty: there is no decision
	DecidedAt     *time.Time             `json:"decided_at"`
	Meaning       string                 `json:"meaning"`          // the meaning of the decision, or why there is none
	Reason        string                 `json:"reason,omitempty"` // how the event reached the recipient: you follow order 7
	Rules         RulesNow               `json:"rules_now"`
	Delivery      *report.DeliveryDetail `json:"delivery"`                    // null: no delivery was planned
	Workflow      *Sending               `json:"workflow,omitempty"`          // the delivery's workflow
	EventWorkflow *WorkflowView          `json:"event_workflow,omitempty"`    // set if there is no decision
	Escalation    *Escalation            `json:"escalation,omitempty"`        // the delivery's escalation
	Ahead         string                 `json:"quiet_hours_ahead,omitempty"` // how quiet hours affect the delivery when its wait ends
	OwnTime       *time.Time             `json:"own_time,omitempty"`          // until when a retried delivery waits; null: it does not wait
	ErasedAt      *time.Time             `json:"erased_at,omitempty"`         // when the delivery's recipient was erased
	Next          string                 `json:"next"`
}

// WhyDelivery explains a delivery. If there is none with this id, the error is
// [notification.ErrNoDelivery].
func (e Explainer) WhyDelivery(ctx context.Context, id string) (Why, error) {
	delivery, err := e.reader().DeliveryDetail(ctx, id)
	if err != nil {
		return Why{}, advice.NoDelivery(id, err)
	}
	key := report.DecisionKey{EventID: delivery.EventID, UserType: delivery.UserType, UserID: delivery.UserID, Channel: delivery.Channel}
	return e.why(ctx, key, &delivery)
}

// Why explains what one recipient got of an event over one channel, or why they got nothing. If
// nothing is known about the event, the error is [notification.ErrNoEvent].
func (e Explainer) Why(ctx context.Context, key report.DecisionKey) (Why, error) {
	id, err := e.reader().DeliveryOf(ctx, key)
	switch {
	case errors.Is(err, notification.ErrNoDelivery):
		return e.why(ctx, key, nil)
	case err != nil:
		return Why{}, err
	}
	return e.WhyDelivery(ctx, id)
}

func (e Explainer) why(ctx context.Context, key report.DecisionKey, delivery *report.DeliveryDetail) (Why, error) {
	decided, err := e.reader().Decided(ctx, key)
	if err != nil {
		return Why{}, advice.NoEvent(key.EventID, err)
	}
	now := time.Now()
	w := Why{
		EventID: key.EventID, EventType: decided.EventType, Outbox: decided.Outbox, Processed: decided.Processed,
		Recipient: string(key.UserType) + "/" + key.UserID, Channel: key.Channel, Delivery: delivery,
	}
	if decided.Decisions != nil {
		w.DecidedAt, w.Decision = &decided.DecidedAt, decided.Decisions[key.Channel]
	}
	plan, trace, err := e.planAgain(ctx, key, decided, now)
	if err != nil {
		return Why{}, refusedByDatabase(err)
	}
	w.Rules = rulesNow(plan, trace)
	switch {
	case delivery != nil:
		if err := e.followDelivery(ctx, &w, now); err != nil {
			return Why{}, refusedByDatabase(err)
		}
	case w.Undecided():
		execution, _ := e.EventWorkflow(ctx, key.EventID)
		w.EventWorkflow = &execution
	}
	m := newMoment(w, now)
	w.Meaning, w.Next = m.meaning(key.UserType, decided.ThrottledBy[key.Channel]), m.next()
	return w, nil
}

// followDelivery reads the workflow, the escalation and the waits of the delivery of w.
func (e Explainer) followDelivery(ctx context.Context, w *Why, now time.Time) (err error) {
	sending := e.DeliveryWorkflow(ctx, *w.Delivery)
	w.Workflow = &sending
	if w.Ahead, err = e.ahead(ctx, *w.Delivery, sending, now); err != nil {
		return err
	}
	if w.Escalation, err = e.escalation(ctx, w.Delivery.DeliveryID); err != nil {
		return err
	}
	if w.OwnTime, err = e.ownTime(ctx, *w.Delivery, now); err != nil {
		return err
	}
	w.Reason = reason.Why{
		Entity: notification.Entity{Type: w.Delivery.EntityType, ID: w.Delivery.EntityID}, MemberRole: w.Delivery.MemberRole,
	}.Sentence("en")
	w.ErasedAt, err = person.On(e.DB).ErasedAt(ctx, notification.RecipientKey{UserType: w.Delivery.UserType, UserID: w.Delivery.UserID})
	return err
}

// CountChosen counts the chosen recipients in the rules of w. The time grows with the event.
func (e Explainer) CountChosen(ctx context.Context, w *Why) (err error) {
	w.Rules.Chosen, err = e.reader().Chosen(ctx, w.EventID, w.Channel)
	return err
}

// ownTime returns the time until which an ended delivery would wait if it were retried; nil: it
// would not wait.
func (e Explainer) ownTime(ctx context.Context, delivery report.DeliveryDetail, now time.Time) (*time.Time, error) {
	if delivery.Status != notification.Cancelled && delivery.Status != notification.Failed {
		return nil, nil
	}
	at, err := attempt.On(e.DB).OwnTime(ctx, delivery.DeliveryID, now)
	if err != nil || at.IsZero() {
		return nil, err
	}
	return &at, nil
}

// Undecided reports whether there is no decision about the recipient and the channel.
func (w Why) Undecided() bool { return w.Decision == "" }
