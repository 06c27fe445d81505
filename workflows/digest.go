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

	// What a run hands to the next one.
	Until    time.Time `json:",omitzero"`  // end of the window; zero: Window after the start
	Wait     string    `json:",omitempty"` // it waits until then for quiet hours to end, in words for people
	Joined   int       `json:",omitempty"` // items that joined in earlier runs
	Hastened bool      `json:",omitempty"` // an operator wants it sent, quiet hours or not
}

// DigestResult is the result of [Digest].
type DigestResult struct {
	Status notification.Status // of its items; empty: there was none left to send
	Reason string              `json:",omitempty"` // why it was not sent
	Items  int                 // that it was to list
}

var sealOptions = eventOptions(20*time.Second, "decide what the digest lists")

// Digest sends the notifications of one event type to one recipient over one channel
// as one message. It collects until its window ends or a hundred have joined; in
// quiet hours it continues collecting until they end. The rows in the database decide
// what it lists. Signals only start it and count, so losing one loses nothing.
//
// One digest of a kind runs at a time. What joins while it sends is left for the
// next run. Cancelling a digest cancels what it would have listed.
func Digest(ctx workflow.Context, in DigestInput) (DigestResult, error) {
	ctx = onRecordsQueue(ctx)
	if in.Until.IsZero() {
		in.Until = workflow.Now(ctx).Add(in.Window)
	}
	// A reset makes another run, which is to send what was sealed before: hence the original run's id.
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

// digest is one run on its way.
type digest struct {
	DigestInput
	id      string
	dropped map[string]string // why items are not told any more, by delivery id
	long    bool              // the history is: another run continues collecting
}

// send sends what was sealed, or drops it in quiet hours. Its error says why it was
// not sent.
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
