package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// DigestEnded is the argument of the signal that a digest sends to each item when it ends.
type DigestEnded struct {
	Status notification.Status // SENT, FAILED or CANCELLED
	notification.SentBy
	Reason string `json:",omitempty"` // the reason why it was not sent
}

const (
	DigestJoined = "join"         // to a digest: a delivery id
	digestEnded  = "digest-ended" // to a delivery: a DigestEnded
)

// If a digest sends no signal, an item joins again digestSilence after the end of the window,
// because the digest may have been terminated. The time doubles each time, up to longestSilence, so
// that an item's history stays short even if its digest is rescheduled by a year.
const digestSilence, longestSilence = time.Hour, 12 * time.Hour

// attemptCheck is the interval at which a cancelled delivery checks whether the
// attempt at its digest has ended.
const attemptCheck = 5 * time.Second

var joinOptions = eventOptions(20*time.Second, "join the digest")

// deliverInDigest hands the delivery to its digest and waits until the digest has ended. It
// passes an operator's orders on to the digest: also the last order from before it joined, because the
// digest may have been running by then.
func deliverInDigest(ctx workflow.Context, in DeliverInput, before *order) (DeliverResult, error) {
	for silence := digestSilence; ; silence = min(2*silence, longestSilence) {
		input := activities.JoinInput{DeliveryID: in.DeliveryID, Channel: in.Channel}
		joined, err := execute[activities.JoinResult](ctx, joinOptions, acts.JoinDigest, input)
		if err != nil {
			return DeliverResult{}, err
		}
		if joined.Status != notification.Pending {
			return DeliverResult{Status: joined.Status}, nil
		}
		if before != nil {
			passOn(ctx, joined.DigestID, *before)
			before = nil
		}
		ended, err := waitForDigest(ctx, joined, silence)
		switch {
		case err != nil:
			return DeliverResult{}, err
		case ended == nil:
			continue
		case ended.Status == notification.Failed:
			return DeliverResult{}, temporal.NewNonRetryableApplicationError(ended.Reason, "DigestFailed", nil)
		case ended.Status == notification.Cancelled:
			return DeliverResult{Status: notification.Pending, Reason: ended.Reason}, nil
		default:
			return DeliverResult{Status: ended.Status, SentBy: ended.SentBy}, nil
		}
	}
}

// waitForDigest waits until the digest has ended. It returns nil if the digest sends no
// signal in time. Its only error is that ctx was cancelled.
func waitForDigest(ctx workflow.Context, joined activities.JoinResult, silence time.Duration) (ended *DigestEnded, err error) {
	workflow.SetCurrentDetails(ctx, "waiting for its digest, the workflow "+joined.DigestID)
	silent, until, selector := false, workflow.Now(ctx).Add(joined.Window+silence), workflow.NewSelector(ctx)
	defer addTimer(ctx, selector, until, "check the digest", func(ended error) { silent, err = true, ended })()
	selector.AddReceive(workflow.GetSignalChannel(ctx, digestEnded), func(c workflow.ReceiveChannel, _ bool) {
		var told DigestEnded
		if c.ReceiveAsync(&told) { // ignores signals that are not a DigestEnded
			ended = &told
		}
	})
	addControls(ctx, selector, func(ordered order) { passOn(ctx, joined.DigestID, ordered) })
	for ended == nil && !silent {
		selector.Select(ctx)
	}
	return ended, err
}

// passOn signals an operator's order to a digest.
func passOn(ctx workflow.Context, digestID string, ordered order) {
	if ordered.until.IsZero() {
		workflow.SignalExternalWorkflow(ctx, digestID, "", SendNow, nil)
	} else {
		workflow.SignalExternalWorkflow(ctx, digestID, "", Reschedule, ordered.until)
	}
}

// waitForAttempt waits for the end of an attempt at the digest, even if the workflow was cancelled.
// It returns when the digest ends, or after attemptCheck.
func waitForAttempt(ctx workflow.Context) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	workflow.SetCurrentDetails(ctx, "cancelled, but the provider has its digest: waiting for the result")
	told := workflow.GetSignalChannel(ctx, digestEnded)
	options := workflow.AwaitOptions{Timeout: attemptCheck, TimerOptions: workflow.TimerOptions{Summary: "check the attempt"}}
	if ended, _ := workflow.AwaitWithOptions(ctx, options, func() bool { return told.Len() > 0 }); ended {
		told.ReceiveAsync(nil)
	}
}
