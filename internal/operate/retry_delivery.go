package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/person"
)

// RetryDelivery starts a new run of deliveries that have ended. With again, it also retries sent
// deliveries, which the recipient gets twice, expired deliveries, and deliveries that another
// event cancelled or replaced. wait is the total time that an order waits for the runs to end.
func RetryDelivery(again bool, wait time.Duration) Verb {
	return Verb{Name: "retry", Noun: Deliveries, Repeats: again, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		return o.planRetryDelivery(ctx, id, again, wait)
	}}
}

func (o *Operator) planRetryDelivery(ctx context.Context, id string, again bool, wait time.Duration) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if at, err := person.On(o.DB).ErasedAt(ctx, notification.RecipientKey{UserType: state.UserType, UserID: state.UserID}); err != nil || at != nil {
		return refusal(toErased(id, at)), err
	}
	if isSent(state) && !again {
		refused := unchanged(id, state)
		refused.Next = "add --again to send it once more; the recipient gets it twice"
		return refusal(refused), nil
	}
	if state.Withdrawn != "" && !again {
		return refusal(withdrawn(id, state)), nil
	}
	if state.ExpiredAt != nil && !again {
		return refusal(expired(id, state)), nil
	}
	status, err := o.settledStatus(ctx, id, state.Status != notification.Pending)
	if err != nil {
		return plan{}, err
	}
	if status == running {
		return refusal(underWay(id, state)), nil
	}
	if batch, err := o.batchOf(ctx, state); err != nil || batch != "" {
		return refusal(inBatch(id, batch)), err
	}
	at, err := attempt.On(o.DB).OwnTime(ctx, id, time.Now())
	if err != nil {
		return plan{}, err
	}
	expected := Outcome{ID: id, Done: true, Result: "would be retried", Detail: "it is " + string(state.Status) + waitsUntil(id, at)}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.retryDelivery(ctx, id, state, at, again, wait) }}, nil
}

// planningWait is the time to watch a retried delivery that waits for its send time: its planning
// may fail at once.
const planningWait = 5 * time.Second

// waitsUntil names the time until which a retried delivery waits, and the command that sends it
// earlier; empty: it does not wait.
func waitsUntil(id string, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("; it waits until its due time, %s; `starter delivery send-now %s` sends it now", notification.InstantText(at), advice.Quote(id))
}

func (o *Operator) retryDelivery(ctx context.Context, id string, state attempt.DeliveryState, at time.Time, again bool, wait time.Duration) (Outcome, error) {
	run, err := o.Launcher.RetryDelivery(ctx, launch.RetryInput{
		DeliveryID: id, Channel: state.Channel, EventID: state.EventID, EventType: state.EventType, Aggregate: state.Aggregate,
		UserType: state.UserType, UserID: state.UserID, Priority: state.Priority, Again: again,
	})
	if errors.Is(err, launch.ErrRunning) { // another operator was faster
		return underWay(id, state), nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("retry %s: %w", id, err)
	}
	started := Outcome{ID: id, Done: true, Result: "started", Detail: howItEnds(id) + waitsUntil(id, at)}
	if !at.IsZero() {
		wait = min(wait, planningWait)
	}
	if ended, _ := o.awaitEnd(ctx, wait, run); !ended {
		return started, nil
	}
	state, err = o.delivery(ctx, id)
	switch {
	case err != nil:
		return Outcome{}, err
	case isSent(state):
		return Outcome{ID: id, Done: true, Result: "sent", Detail: clock(state.SentAt)}, nil
	case state.Status == notification.Pending: // the workflow was terminated
		return started, nil
	default:
		return unchanged(id, state), nil
	}
}
