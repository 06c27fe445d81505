package operate

import (
	"context"
	"fmt"
	"time"

	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/workflows"
)

// answerWait is the time that an order waits until the workflow has stored an answer.
const answerWait = 30 * time.Second

// ApproveEvent approves events that wait for approval. Who caused an event cannot approve it.
func ApproveEvent() Verb {
	return answering("approve", answer{notification.Approved, WouldBeApproved, Approved})
}

// RejectEvent rejects events that wait for approval. They tell nobody.
func RejectEvent() Verb {
	return answering("reject", answer{notification.Rejected, WouldBeRejected, Rejected})
}

// answer is an answer to an event that waits for approval, and its codes in a dry run and a run.
type answer struct {
	notification.ApprovalAnswer
	expected, done Code
}

func answering(name string, a answer) Verb {
	return eventVerb(name, func(c eventChange, ctx context.Context) (plan, error) { return c.planAnswer(ctx, a) })
}

func (c eventChange) planAnswer(ctx context.Context, a answer) (plan, error) {
	approval, err := planner.On(c.DB).Approval(ctx, c.id)
	switch {
	case err != nil:
		return plan{}, err
	case approval == nil:
		return refusal(c.is(NeedsNoApproval)), nil
	case approval.Answer != "":
		return refusal(c.answered(*approval)), nil
	case c.state.Processed != notification.Processing:
		return refusal(c.is(ApprovalEnded)), nil
	case a.ApprovalAnswer == notification.Approved && approval.IsOf(c.Order.Actor):
		return refusal(c.is(IsOwnEvent)), nil
	}
	status, err := c.workflowStatus(ctx, c.id)
	if err != nil {
		return plan{}, err
	}
	if status != running {
		return refusal(c.is(ApprovalNotRunning)), nil
	}
	return plan{c.is(a.expected), func(ctx context.Context) (Outcome, error) { return c.answer(ctx, a) }}, nil
}

// answered returns the outcome of an event that somebody answered.
func (c eventChange) answered(by notification.Approval) Outcome {
	outcome := c.is(WasAnswered)
	outcome.Approval = by
	return outcome
}

// answer signals the workflow, and waits for the answer that it stores: the first answer counts.
func (c eventChange) answer(ctx context.Context, a answer) (Outcome, error) {
	given := workflows.ApproveSignal{Approved: a.ApprovalAnswer == notification.Approved, By: c.Order.Actor, Reason: c.Order.Reason}
	switch err := c.temporal().SignalWorkflow(ctx, c.id, "", workflows.Approve, given); {
	case launch.IsNotFound(err): // the workflow has ended since the plan
		return c.is(ApprovalEnded), nil
	case err != nil:
		return Outcome{}, fmt.Errorf("signal %s: %w", c.id, err)
	}
	for deadline := time.Now().Add(answerWait); ; {
		stored, err := planner.On(c.DB).Approval(ctx, c.id)
		switch {
		case err != nil:
			return Outcome{}, err
		case stored == nil:
			return c.is(ApprovalEnded), nil
		case stored.Answer == a.ApprovalAnswer && stored.AnsweredBy == c.Order.Actor:
			return c.is(a.done), nil
		case stored.Answer != "":
			return c.answered(*stored), nil
		case time.Now().After(deadline):
			return c.is(AnswerNotStored), nil
		}
		if err := sleep(ctx); err != nil {
			return Outcome{}, err
		}
	}
}
