package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// DigestInput is the input of [Digest].
type DigestInput struct {
	Key    notification.DigestKey
	Window time.Duration // from the first item
	Policy activities.DeliveryPolicy
	Timed  bool `json:",omitempty"` // each item has its own due time; false: an item is due Window after its planning

	// A run hands these fields to the next run.
	Until    time.Time `json:",omitzero"`  // end of the window; zero: Window after the start
	Wait     string    `json:",omitempty"` // the reason of the wait, as text; empty: the window's end
	Joined   int       `json:",omitempty"` // items that joined in earlier runs
	Hastened bool      `json:",omitempty"` // an operator sends the digest now, even in quiet hours

	ReadyOnly bool `json:",omitempty"` // with Timed: the digest lists only items that are due
}

// DigestResult is the result of [Digest].
type DigestResult struct {
	Status notification.Status // the status of its items; empty: it had no items
	notification.SentBy
	Reason string `json:",omitempty"` // the reason why it was not sent
	Items  int    // the number of sealed items
}

var sealOptions = eventOptions(20*time.Second, "decide which items the digest lists")

// Digest sends the notifications of one event type to one recipient over one channel as one
// message. It collects items until its window ends or a hundred items have joined; in quiet hours
// it collects until they end. It lists the items that the rows in the database name. Signals only
// start and count, so a lost signal loses no item.
//
// One digest for each recipient, channel and event type runs at a time. Items that join while it
// sends go to the next run. Cancelling a digest cancels all its items, however many
// messages they would fill.
func Digest(ctx workflow.Context, in DigestInput) (DigestResult, error) {
	ctx = onRecordsQueue(ctx)
	if in.Until.IsZero() {
		in.Until = workflow.Now(ctx).Add(in.Window)
	}
	// The original run's id: after a reset, the new run sends the items that were sealed before.
	d := &digest{DigestInput: in, id: "digest-" + workflow.GetInfo(ctx).OriginalRunID}
	sealed, err := d.collect(ctx)
	if d.long {
		return DigestResult{}, workflow.NewContinueAsNewError(ctx, Digest, d.DigestInput)
	}
	ended := DigestEnded{}
	if err == nil && len(sealed.Items) > 0 {
		ended, err = d.send(ctx, sealed)
	}
	cancelled := ctx.Err()
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err != nil {
		ended = DigestEnded{Status: notification.Failed, Reason: reason(err)}
		if d.cancelled = cancelled != nil; d.cancelled {
			ended = DigestEnded{Status: notification.Cancelled, Reason: "digest cancelled"}
		}
		if sealed, err = d.giveUp(ctx, sealed, ended); err != nil {
			return DigestResult{}, err
		}
	}
	d.tell(ctx, sealed.Items, ended)
	if next, more := d.next(ctx, sealed); more {
		return DigestResult{}, workflow.NewContinueAsNewError(ctx, Digest, next)
	}
	result := DigestResult{Status: ended.Status, SentBy: ended.SentBy, Reason: ended.Reason, Items: len(sealed.Items)}
	if ended.Status == notification.Sent {
		return result, nil // even if the digest was cancelled meanwhile
	}
	setOutcome(ctx, string(ended.Status))
	return result, cancelled
}

// digest is the state of one run of [Digest].
type digest struct {
	DigestInput
	id      string
	dropped map[string]string // the reasons of dropped items, by delivery id
	long    bool              // the history is long: another run continues collecting

	cancelled bool // all waiting items end, however many messages they would fill
}

// send sends the sealed items, or drops them in quiet hours. If it sends nothing, the error is the
// reason.
func (d *digest) send(ctx workflow.Context, sealed activities.SealResult) (DigestEnded, error) {
	if sealed.Quiet {
		ended := DigestEnded{Status: notification.Cancelled, Reason: string(notification.DecisionQuietHours)}
		return ended, d.recordEnd(ctx, ended)
	}
	options := sendOptions(ctx, d.Policy, fmt.Sprintf("send the digest by %s", d.Key.Channel))
	input := activities.SendDigestInput{DigestID: d.id, Key: d.Key, AttemptPolicy: d.Policy.AttemptPolicy, SkipQuiet: d.Hastened}
	for pause := minPause; ; {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("sending %d notifications", len(sealed.Items)))
		var sent activities.SendDigestResult
		ordered, err := attempts(ctx, options, acts.SendDigest, input, &sent)
		d.dropped = sent.Dropped
		switch {
		case err != nil:
			return DigestEnded{}, err
		case sent.Unrecorded != nil:
			return DigestEnded{Status: notification.Sent, SentBy: sent.SentBy}, record(ctx, acts.RecordDigest, *sent.Unrecorded, nil)
		case sent.Items > 0:
			return DigestEnded{Status: notification.Sent, SentBy: sent.SentBy}, nil
		case ordered == nil && sent.NotBefore.IsZero(): // operators or the rules cancelled all items
			return DigestEnded{Status: notification.Cancelled}, nil
		case ordered == nil:
			input.SkipQuiet = false
			ordered, err = pause.before(ctx, wait{sent.NotBefore, sent.Wait}).run(ctx)
		}
		for ; ordered != nil && err == nil; ordered, err = ordered.wait().run(ctx) {
			input.SkipQuiet = ordered.until.IsZero()
		}
		if err != nil {
			return DigestEnded{}, err
		}
	}
}
