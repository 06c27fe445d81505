package operate

import (
	"context"
	"fmt"
	"time"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/workflows"
)

// answerWait is the time that an order waits until the workflow has stored an answer.
const answerWait = 30 * time.Second

// ApproveEvent approves events that wait for approval. The emitter of an event cannot approve it.
func ApproveEvent() Verb { return answering("approve", notification.Approved) }

// RejectEvent rejects events that wait for approval. They tell nobody.
func RejectEvent() Verb { return answering("reject", notification.Rejected) }

func answering(name string, answer notification.ApprovalAnswer) Verb {
	return Verb{Name: name, Noun: Events, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		return o.planAnswer(ctx, id, answer)
	}}
}

func (o *Operator) planAnswer(ctx context.Context, id string, answer notification.ApprovalAnswer) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	approval, err := planner.On(o.DB).Approval(ctx, id)
	switch {
	case err != nil:
		return plan{}, err
	case approval == nil:
		return refusal(Outcome{ID: id, Result: "does not wait for approval", Next: showEvent(id)}), nil
	case approval.Answer != "":
		return refusal(Outcome{ID: id, Result: "was answered", Detail: answerText(*approval), Next: showEvent(id)}), nil
	case state.Processed != notification.Processing:
		return refusal(Outcome{ID: id, Result: "has ended", Next: showEvent(id)}), nil
	case answer == notification.Approved && approval.Emitter == o.Order.Actor:
		return refusal(Outcome{ID: id, Result: "was emitted by you", Detail: "somebody else has to approve it"}), nil
	}
	status, err := o.workflowStatus(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if status != running {
		return refusal(Outcome{
			ID: id, Result: "has no running workflow", Detail: "it has ended, or was not started yet",
			Next: "`starter event retry " + advice.Quote(id) + "` starts it again",
		}), nil
	}
	expected := Outcome{ID: id, Done: true, Result: fmt.Sprintf("would be %s", answer)}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.answer(ctx, id, answer) }}, nil
}

// answer signals the workflow, and waits for the answer that it stores: the first answer counts.
func (o *Operator) answer(ctx context.Context, id string, answer notification.ApprovalAnswer) (Outcome, error) {
	given := workflows.ApproveSignal{Approved: answer == notification.Approved, By: o.Order.Actor, Reason: o.Order.Reason}
	switch err := o.temporal().SignalWorkflow(ctx, id, "", workflows.Approve, given); {
	case launch.IsNotFound(err): // the workflow has ended since the plan
		return Outcome{ID: id, Result: "has ended", Next: showEvent(id)}, nil
	case err != nil:
		return Outcome{}, fmt.Errorf("signal %s: %w", id, err)
	}
	for deadline := time.Now().Add(answerWait); ; {
		stored, err := planner.On(o.DB).Approval(ctx, id)
		switch {
		case err != nil:
			return Outcome{}, err
		case stored == nil:
			return Outcome{ID: id, Result: "has ended", Next: showEvent(id)}, nil
		case stored.Answer == answer && stored.AnsweredBy == o.Order.Actor:
			return Outcome{ID: id, Done: true, Result: string(answer)}, nil
		case stored.Answer != "":
			return Outcome{ID: id, Result: "was answered", Detail: answerText(*stored), Next: showEvent(id)}, nil
		case time.Now().After(deadline):
			return Outcome{ID: id, Result: "is not answered yet", Detail: "its workflow has the answer, and stores it when a worker runs", Next: "`starter event show " + advice.Quote(id) + "`"}, nil
		}
		if err := sleep(ctx); err != nil {
			return Outcome{}, err
		}
	}
}

// answerText returns "APPROVED by ada, at 2026-11-22 10:00:05.000Z".
func answerText(a notification.Approval) string {
	return fmt.Sprintf("%s by %s, at %s", a.Answer, a.AnsweredBy, notification.InstantText(*a.AnsweredAt))
}
