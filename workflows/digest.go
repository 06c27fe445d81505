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
	Timed  bool `json:",omitempty"` // each item has its time; empty: it is due Window after it was planned

	// A run hands these fields to the next run.
	Until    time.Time `json:",omitzero"`  // end of the window; zero: Window after the start
	Wait     string    `json:",omitempty"` // why it waits until then, for people; empty: for the window's end
	Joined   int       `json:",omitempty"` // items that joined in earlier runs
	Hastened bool      `json:",omitempty"` // an operator wants it sent, even in quiet hours

	ReadyOnly bool `json:",omitempty"` // with Timed: it lists only items that are due
}

// DigestResult is the result of [Digest].
type DigestResult struct {
	Status notification.Status // of its items; empty: it had no items
	Reason string              `json:",omitempty"` // why it was not sent
	Items  int                 // the number of sealed items
}

var sealOptions = eventOptions(20*time.Second, "decide what the digest lists")

// Digest sends the notifications of one event type to one recipient over one channel
// as one message. It collects items until its window ends or a hundred have joined; in
// quiet hours it collects until they end. The rows in the database decide which items it
// lists. Signals only start it and count, so a lost signal loses no item.
//
// One digest of a kind runs at a time. Items that join while it sends are left for the
// next run. Cancelling a digest cancels its items.
func Digest(ctx workflow.Context, in DigestInput) (DigestResult, error) {
	ctx = onRecordsQueue(ctx)
	if in.Until.IsZero() {
		in.Until = workflow.Now(ctx).Add(in.Window)
	}
	// The original run's id: after a reset, the new run sends the items sealed before.
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
		if cancelled != nil {
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
	result := DigestResult{Status: ended.Status, Reason: ended.Reason, Items: len(sealed.Items)}
	if ended.Status == notification.Sent {
		return result, nil // even if it was cancelled meanwhile
	}
	setOutcome(ctx, string(ended.Status))
	return result, cancelled
}

// digest is the state of one run of [Digest].
type digest struct {
	DigestInput
	id      string
	dropped map[string]string // why items were dropped, by delivery id
	long    bool              // the history is long: another run continues collecting
}

// send sends the sealed items, or drops them in quiet hours. The error is the reason why
// they were not sent.
func (d *digest) send(ctx workflow.Context, sealed activities.SealResult) (DigestEnded, error) {
	if sealed.Quiet {
		ended := DigestEnded{Status: notification.Cancelled, Reason: string(notification.DecisionQuietHours)}
		return ended, d.recordEnd(ctx, ended)
	}
	options := sendOptions(ctx, d.Policy, fmt.Sprintf("send the digest by %s", d.Key.Channel))
	input := activities.SendDigestInput{DigestID: d.id, Key: d.Key, AttemptPolicy: d.Policy.AttemptPolicy, SkipQuiet: d.Hastened}
	for {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("sending %d notifications", len(sealed.Items)))
		var sent activities.SendDigestResult
		next, err := attempts(ctx, options, acts.SendDigest, input, &sent)
		d.dropped = sent.Dropped
		switch {
		case err != nil:
			return DigestEnded{}, err
		case sent.Unrecorded != nil:
			return DigestEnded{Status: notification.Sent}, record(ctx, acts.RecordDigest, *sent.Unrecorded, nil)
		case sent.Items > 0:
			return DigestEnded{Status: notification.Sent}, nil
		case next == nil && sent.NotBefore.IsZero(): // all were cancelled, by operators or by the rules
			return DigestEnded{Status: notification.Cancelled}, nil
		case next == nil:
			next = &wait{until: sent.NotBefore, why: sent.Wait, quiet: true}
		}
		if input.SkipQuiet, err = next.run(ctx); err != nil {
			return DigestEnded{}, err
		}
	}
}
