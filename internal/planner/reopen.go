package planner

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// Reopen plans one delivery again, by the current rules and templates. If the event's row was purged,
// the delivery keeps its text.
func (p Planner) Reopen(ctx context.Context, found notification.Reopening) (notification.Reopened, error) {
	plan := notification.Reopened{Address: found.Recipient.Address(found.Channel), KeepText: true, Problem: found.Problem()}
	if plan.Problem != "" {
		return plan, nil
	}
	event, err := p.Event(ctx, found.EventID)
	at, problem := found.OwnTime(event.EventSetup, time.Now())
	if !at.IsZero() {
		plan.SendAfter = &at
	}
	switch {
	case errors.Is(err, notification.ErrNoEvent) && found.HasText:
		return plan, nil
	case errors.Is(err, notification.ErrNoEvent):
		plan.Problem = "it has no text, and its event was purged"
		return plan, nil
	case err != nil:
		return notification.Reopened{}, err
	}
	plan.KeepText = false
	if plan.Problem = problem; problem != "" {
		return plan, nil
	}
	text, err := event.textsOf(found.Escalated(event.EventSetup)).Render(ctx, found.Channel, found.Recipient)
	if err := ctx.Err(); err != nil {
		return notification.Reopened{}, err
	}
	if err != nil {
		plan.Problem = err.Error()
		return plan, nil
	}
	plan.Title, plan.Body, plan.URL = &text.Title, &text.Body, text.URL
	return plan, nil
}
