package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// collect waits until the digest is due and returns its sealed items.
func (d *digest) collect(ctx workflow.Context) (activities.SealResult, error) {
	for judgeQuiet := true; ; {
		if err := d.waitUntilDue(ctx); err != nil || d.long {
			return activities.SealResult{}, err
		}
		sealed, err := d.seal(ctx, judgeQuiet && !d.Hastened)
		if err != nil || sealed.NotBefore.IsZero() {
			return sealed, err
		}
		d.Until, d.Wait = sealed.NotBefore, sealed.Wait
		// false once Until is past by Temporal's clock: a slower clock must not find the same quiet hours again
		judgeQuiet = workflow.Now(ctx).Before(d.Until)
	}
}

// waitUntilDue waits until the window ends, a hundred items have joined, or an operator sends the
// digest now. It stops early if the history has become long. Its only error is that ctx was
// cancelled.
func (d *digest) waitUntilDue(ctx workflow.Context) (err error) {
	for {
		d.receivePending(ctx)
		switch {
		case err != nil || d.due(ctx):
			return err
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			d.long = true
			return nil
		}
		workflow.SetCurrentDetails(ctx, d.details())
		selector := workflow.NewSelector(ctx)
		stop := addTimer(ctx, selector, d.Until, "end of the window", func(ended error) { err = ended })
		d.addSignals(ctx, selector).Select(ctx)
		stop()
	}
}

// addSignals adds the signals of deliveries and operators to a selector.
func (d *digest) addSignals(ctx workflow.Context, selector workflow.Selector) workflow.Selector {
	selector.AddReceive(workflow.GetSignalChannel(ctx, DigestJoined), func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		d.Joined++
	})
	return addControls(ctx, selector, func(ordered order) {
		if ordered.until.IsZero() {
			d.Hastened = true
		} else {
			d.Until, d.Wait = ordered.until, ordered.wait().why
		}
	})
}

// receivePending receives the pending signals, because the next run would not see them.
func (d *digest) receivePending(ctx workflow.Context) {
	for signals := d.addSignals(ctx, workflow.NewSelector(ctx)); signals.HasPending(); {
		signals.Select(ctx)
	}
}

// due reports whether the digest has to be sent. While it waits for the end of quiet
// hours, or was rescheduled, the number of items does not matter.
func (d *digest) due(ctx workflow.Context) bool {
	return d.Hastened || !workflow.Now(ctx).Before(d.Until) || (d.Wait == "" && !d.Timed && d.Joined >= notification.MaxDigestItems)
}

func (d *digest) details() string {
	if d.Wait != "" {
		return fmt.Sprintf("%d joined; waiting until %s", d.Joined, d.Wait)
	}
	if d.Timed {
		return fmt.Sprintf("%d joined; collecting until %s", d.Joined, notification.InstantText(d.Until))
	}
	return fmt.Sprintf("%d of at most %d joined; collecting until %s", d.Joined, notification.MaxDigestItems,
		notification.InstantText(d.Until))
}

func (d *digest) seal(ctx workflow.Context, judgeQuiet bool) (activities.SealResult, error) {
	input := activities.SealInput{
		DigestID: d.id, Key: d.Key, Window: d.Window, JudgeQuiet: judgeQuiet, Timed: d.Timed,
		ReadyOnly: d.ReadyOnly && !d.Hastened && d.Wait == "" && !d.cancelled, Unsent: d.cancelled,
	}
	return execute[activities.SealResult](ctx, sealOptions, acts.SealDigest, input)
}
