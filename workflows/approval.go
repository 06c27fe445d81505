package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// Approve is the signal that answers an event waiting for approval. Its argument is an
// [ApproveSignal].
const Approve = "approve"

// ApproveSignal is an operator's answer to an event that waits for approval.
type ApproveSignal struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"` // the person who answers; required
	Reason   string `json:"reason,omitempty"`
}

var (
	answerOptions = eventOptions(20*time.Second, "store the answer")
	warnOptions   = eventOptions(20*time.Second, "alert operators that the event will be rejected soon")
)

// afterApproval waits until the event is approved, and then plans `in`. If the event is rejected,
// the result has the outcome REJECTED.
func afterApproval(
	ctx workflow.Context, notify NotifyInput, in activities.PlanInput, planned activities.PlanResult,
) (activities.PlanResult, error) {
	setOutcome(ctx, string(planned.Outcome))
	for planned.Outcome == notification.AwaitingApproval {
		answer, err := awaitAnswer(ctx, notify.EventID, planned)
		if err != nil {
			return planned, err
		}
		if answer == notification.Rejected {
			return activities.PlanResult{Outcome: notification.EventRejected, Problem: planned.Problem}, nil
		}
		workflow.SetCurrentDetails(ctx, "approved; planning")
		if planned, err = planPages(ctx, in); err != nil {
			return planned, cmp.Or(ctx.Err(), err)
		}
	}
	return planned, workflow.UpsertTypedSearchAttributes(ctx, OutcomeAttribute.ValueUnset())
}

// awaitAnswer waits for the first answer. After 7 days it rejects the event; a day before, it alerts
// operators.
func awaitAnswer(ctx workflow.Context, eventID string, planned activities.PlanResult) (notification.ApprovalAnswer, error) {
	until := planned.AskedAt.Add(notification.ApprovalWait)
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("%s: it waits for `starter event approve` or `reject`, and is rejected at %s",
		planned.Problem, notification.InstantText(until)))
	signals := workflow.GetSignalChannel(ctx, Approve)
	warned := false
	for {
		next := until
		if !warned {
			next = until.Add(-notification.ApprovalAlert)
		}
		var given ApproveSignal
		var err error
		selector := workflow.NewSelector(ctx)
		stop := addTimer(ctx, selector, next, "wait for an answer", func(ended error) {
			if err = ended; err == nil && warned {
				given = ApproveSignal{By: notification.NobodyAnswered, Reason: "nobody answered within 7 days"}
			}
		})
		selector.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
			c.ReceiveAsync(&given) // a signal without an answer leaves `given` empty
		}).Select(ctx)
		stop()
		switch {
		case err != nil:
			return "", err
		case given.By != "":
			answer, err := answered(ctx, eventID, given)
			if err != nil || answer != "" {
				return answer, err
			}
		case !workflow.Now(ctx).Before(next) && !warned:
			warned = true
			if _, err := execute[any](ctx, warnOptions, acts.WarnApproval,
				activities.WarnApprovalInput{EventID: eventID, Until: until}); err != nil {
				return "", err
			}
		}
	}
}

// answered stores an answer, and returns the stored answer.
func answered(ctx workflow.Context, eventID string, given ApproveSignal) (notification.ApprovalAnswer, error) {
	in := activities.AnswerApprovalInput{EventID: eventID, Approved: given.Approved, By: cut(given.By), Reason: cut(given.Reason)}
	return execute[notification.ApprovalAnswer](ctx, answerOptions, acts.AnswerApproval, in)
}

func cut(text string) string { return text[:min(len(text), notification.MaxAnswerText)] }
