package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// askApproval makes the event wait if it has more recipients than its type allows without approval.
// The count stops just above that number.
func (p *planning) askApproval(ctx context.Context) error {
	over, rows := *p.ApprovalOver, p.activities.Planner.Rows
	count, err := rows.CountRecipients(ctx, p.Targets, over+1)
	if err != nil || !p.NeedsApproval(count) {
		return err
	}
	if p.result.AskedAt, err = rows.AskApproval(ctx, p.Event.ID); err != nil {
		return err
	}
	p.Outcome, p.Problem = notification.AwaitingApproval, fmt.Sprintf("it would tell more than %d people", over)
	countApproval(ctx, approvalAsked)
	return nil
}

// AnswerApprovalInput is the input of [Activities.AnswerApproval].
type AnswerApprovalInput struct {
	EventID  string
	Approved bool
	By       string
	Reason   string `json:",omitempty"`
}

// AnswerApproval stores an answer, unless the event was answered before. It returns the stored
// answer; empty: the emitter cannot approve their own event, so the event still waits.
func (a *Activities) AnswerApproval(ctx context.Context, in AnswerApprovalInput) (notification.ApprovalAnswer, error) {
	answer := notification.Approval{Answer: notification.Rejected, AnsweredBy: in.By, Reason: in.Reason}
	if in.Approved {
		answer.Answer = notification.Approved
	}
	stored, err := a.Planner.Rows.AnswerApproval(ctx, in.EventID, answer)
	switch {
	case err != nil:
	case stored.Answer != "":
		countApproval(ctx, string(stored.Answer))
	default:
		activity.GetLogger(ctx).Warn("the emitter cannot approve their own event", "event_id", in.EventID)
	}
	return stored.Answer, failure(err)
}

// WarnApprovalInput is the input of [Activities.WarnApproval].
type WarnApprovalInput struct {
	EventID string
	Until   time.Time
}

// WarnApproval alerts operators to an event that will be rejected soon.
func (a *Activities) WarnApproval(ctx context.Context, in WarnApprovalInput) error {
	activity.GetLogger(ctx).Error("an event waits for approval, and will be rejected soon", "event_id", in.EventID, "rejected_at", in.Until)
	countApproval(ctx, approvalEndsSoon)
	return nil
}
