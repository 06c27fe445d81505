package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/notification"
	"herald/internal/person"
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
	Meaning       string                 `json:"meaning"` // the meaning of the decision, or why there is none
	Rules         RulesNow               `json:"rules_now"`
	Delivery      *report.DeliveryDetail `json:"delivery"`                    // null: no delivery was planned
	Workflow      *Sending               `json:"workflow,omitempty"`          // the delivery's workflow
	EventWorkflow *WorkflowView          `json:"event_workflow,omitempty"`    // set if there is no decision
	Escalation    *Escalation            `json:"escalation,omitempty"`        // the delivery's escalation
	Ahead         string                 `json:"quiet_hours_ahead,omitempty"` // how quiet hours affect the delivery when its wait ends
	OwnTime       *time.Time             `json:"own_time,omitempty"`          // the time until which a retried delivery waits; null: it does not wait
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
	plan, err := e.planAgain(ctx, key, decided, now)
	if err != nil {
		return Why{}, refusedByDatabase(err)
	}
	w := newWhy(key, decided, plan, delivery)
	if delivery != nil {
		sending := e.DeliveryWorkflow(ctx, *delivery)
		w.Workflow = &sending
		if w.Ahead, err = e.ahead(ctx, *delivery, sending, now); err != nil {
			return Why{}, refusedByDatabase(err)
		}
		if w.Escalation, err = e.escalation(ctx, delivery.DeliveryID); err != nil {
			return Why{}, err
		}
		if w.OwnTime, err = e.ownTime(ctx, *delivery, now); err != nil {
			return Why{}, refusedByDatabase(err)
		}
		if w.ErasedAt, err = person.On(e.DB).ErasedAt(ctx, notification.RecipientKey{UserType: key.UserType, UserID: key.UserID}); err != nil {
			return Why{}, refusedByDatabase(err)
		}
	} else if w.Undecided() {
		execution, _ := e.EventWorkflow(ctx, key.EventID)
		w.EventWorkflow = &execution
	}
	w.Next = w.next(now)
	if says := w.Escalation.Says(); says != "" {
		w.Next += ". Escalation: " + says
	}
	return w, nil
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

func newWhy(key report.DecisionKey, decided report.Decided, plan planAgain, delivery *report.DeliveryDetail) Why {
	w := Why{
		EventID: key.EventID, EventType: decided.EventType, Outbox: decided.Outbox, Processed: decided.Processed,
		Recipient: string(key.UserType) + "/" + key.UserID, Channel: key.Channel,
		Rules: plan.rules(), Delivery: delivery,
	}
	if decided.Decisions != nil {
		w.DecidedAt = &decided.DecidedAt
		w.Decision = decided.Decisions[key.Channel]
	}
	if w.Undecided() {
		w.Meaning = w.whyUndecided()
	} else {
		w.Meaning = w.Decision.Meaning(key.Channel, key.UserType)
		if by := decided.ThrottledBy[key.Channel]; by != "" {
			w.Meaning += ": " + by
		}
	}
	return w
}

// Undecided reports whether there is no decision about the recipient and the channel.
func (w Why) Undecided() bool { return w.Decision == "" }

// cancelledBy returns the event that cancels this event; empty: none, or its row was purged.
func (w Why) cancelledBy() string {
	if w.Outbox == nil {
		return ""
	}
	return w.Outbox.CancelledBy
}

// succeeded reports whether the event has succeeded, so that no other event could cancel it.
func (w Why) succeeded() bool {
	return w.Processed != nil && w.Processed.Status == notification.ProcessedSuccess
}

// whyUndecided returns why there is no decision, as far as the current rows tell.
func (w Why) whyUndecided() string {
	r := w.Rules
	switch {
	case w.DecidedAt != nil && r.Routing != nil && r.Routing.OnEscalationOnly:
		return fmt.Sprintf("nothing was decided about %s: it is on_escalation_only, so the rules decide about it when an earlier delivery does not arrive, or at once if the earlier channel cannot reach the recipient", w.Channel)
	case w.DecidedAt != nil:
		return fmt.Sprintf("nothing was decided about %s: the event's type was not routed over it when the event was planned", w.Channel)
	case w.cancelledBy() != "" && !w.succeeded():
		return "nothing was decided: the event was " + notification.CancelledBy(w.cancelledBy())
	case w.Outbox != nil && w.Outbox.Status == notification.OutboxPending:
		return "nothing was decided yet: the event waits in the outbox to be started"
	case w.Outbox != nil && w.Outbox.Status == notification.OutboxFailed:
		return "nothing was decided: the event could not be started: " + w.Outbox.ErrorMessage
	case len(r.RoutedChannels) == 0:
		return "nothing was decided about anybody: the event's type has no rows in event_type_channel_routing"
	case !r.RecipientKnown:
		return "nothing was decided about them: they are not in the directory (recipient)"
	case !r.RecipientActive:
		return "nothing was decided about them: they are not active (recipient), or were erased"
	case len(r.Unreached) > 0:
		return "nothing was decided about them, since the event does not name them: " + strings.Join(r.Unreached, "; ")
	case w.Processed != nil && w.Processed.Status == notification.Processing:
		return "nothing was decided about them yet: the event is being planned"
	case w.Processed != nil && w.Processed.Status == notification.ProcessedFailed:
		return "nothing was decided about them: the event was cancelled, or could not be planned, before it came to them"
	default:
		return "nothing was decided about them when the event was planned; by the present rules the event names them"
	}
}
