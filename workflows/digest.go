package workflows

import (
	"fmt"
	"slices"
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

// Digest sends what waits for it as one message: the notifications of one event
// type to one recipient over one channel. It collects until its window ends or a
// hundred have joined, and where the recipient wants quiet then, on until that
// ends. What a digest lists is decided by the rows in the database; joining only
// starts and counts, so that nothing is lost with a signal.
//
// One of a kind runs at a time. What joins while it sends is left for the next
// run. Cancelling it cancels what it would have listed.
func Digest(ctx workflow.Context, in DigestInput) (DigestResult, error) {
	ctx = besideSends(ctx)
	if in.Until.IsZero() {
		in.Until = workflow.Now(ctx).Add(in.Window)
	}
	// The original run's, since a reset makes another run, and what was sealed before it is to be sent.
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
		return result, nil // also where the cancellation came too late
	}
	setOutcome(ctx, string(ended.Status))
	return result, cancelled
}

// digest is one run on its way.
type digest struct {
	DigestInput
	id      string
	dropped map[string]string // why items are not told any more, by delivery id
	long    bool              // the history has become so: another run is to go on collecting
}

// collect waits until the digest is due and returns what it lists.
func (d *digest) collect(ctx workflow.Context) (activities.SealResult, error) {
	for judge := true; ; {
		if err := d.wait(ctx); err != nil || d.long {
			return activities.SealResult{}, err
		}
		sealed, err := d.seal(ctx, judge && !d.Hastened)
		if err != nil || sealed.NotBefore.IsZero() {
			return sealed, err
		}
		d.Until, d.Wait = sealed.NotBefore, sealed.Wait
		judge = workflow.Now(ctx).Before(d.Until) // where that is past by the server's clock, a slower clock is not asked again
	}
}

// wait waits until the window ends, a hundred have joined, or an operator wants
// the digest sent. A digest that waits for quiet hours to end, or that was
// rescheduled, does not count any more. Its only error is cancellation.
func (d *digest) wait(ctx workflow.Context) (err error) {
	for {
		d.drain(ctx)
		switch {
		case err != nil || d.due(ctx):
			return err
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			d.long = true
			return nil
		}
		workflow.SetCurrentDetails(ctx, d.details())
		timer, stop := workflow.WithCancel(ctx)
		selector := workflow.NewSelector(ctx).
			AddFuture(workflow.NewTimerWithOptions(timer, d.Until.Sub(workflow.Now(ctx)), workflow.TimerOptions{Summary: "end of the window"}), func(f workflow.Future) {
				err = f.Get(ctx, nil)
			})
		for _, signal := range digestSignals {
			selector.AddReceive(workflow.GetSignalChannel(ctx, signal), func(workflow.ReceiveChannel, bool) {}) // for drain to take
		}
		selector.Select(ctx)
		stop()
	}
}

func (d *digest) due(ctx workflow.Context) bool {
	return d.Hastened || !workflow.Now(ctx).Before(d.Until) || (d.Wait == "" && d.Joined >= notification.MaxDigestItems)
}

func (d *digest) details() string {
	if d.Wait != "" {
		return fmt.Sprintf("%d joined; waiting until %s", d.Joined, d.Wait)
	}
	return fmt.Sprintf("%d of at most %d joined; collecting until %s", d.Joined, notification.MaxDigestItems, d.Until.UTC().Format(time.RFC3339))
}

// take takes one signal, if there is one.
func (d *digest) take(c workflow.ReceiveChannel) bool {
	switch c.Name() {
	case digestJoined:
		if !c.ReceiveAsync(nil) {
			return false
		}
		d.Joined++
	case SendNow:
		if !c.ReceiveAsync(nil) {
			return false
		}
		d.Hastened = true
	default:
		if c.Len() == 0 {
			return false
		}
		if until, ok := receiveTime(c); ok {
			d.Until, d.Wait = until, rescheduled(until).why
		}
	}
	return true
}

var digestSignals = []string{digestJoined, SendNow, Reschedule}

// drain takes all signals there are. A next run would not see them.
func (d *digest) drain(ctx workflow.Context) {
	for _, signal := range digestSignals {
		for channel := workflow.GetSignalChannel(ctx, signal); d.take(channel); {
		}
	}
}

func (d *digest) seal(ctx workflow.Context, judgeQuiet bool) (activities.SealResult, error) {
	input := activities.SealInput{DigestID: d.id, Key: d.Key, Window: d.Window, JudgeQuiet: judgeQuiet}
	var sealed activities.SealResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, sealOptions), acts.SealDigest, input).Get(ctx, &sealed)
	return sealed, err
}

// send sends what was sealed, unless it is dropped for quiet hours. An error is
// why it was not sent.
func (d *digest) send(ctx workflow.Context, sealed activities.SealResult) (DigestEnded, error) {
	if sealed.Quiet {
		ended := DigestEnded{Status: notification.Cancelled, Reason: notification.WaitQuietHours}
		return ended, d.recordEnd(ctx, ended)
	}
	options := sendOptions(ctx, d.Policy, fmt.Sprintf("send the digest by %s", d.Key.Channel))
	input := activities.SendDigestInput{
		DigestID: d.id, Key: d.Key, Timeout: d.Policy.Timeout,
		MaxAttempts: d.Policy.MaxAttempts, FirstRetry: d.Policy.FirstRetry, Coefficient: d.Policy.Coefficient,
		JudgeQuiet: sealed.JudgeItems,
	}
	for {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("sending %d notifications", len(sealed.Items)))
		var sent activities.SendDigestResult
		interrupted, err := attempts(ctx, options, acts.SendDigest, input, &sent)
		d.dropped = sent.Dropped
		switch {
		case err != nil:
			return DigestEnded{}, err
		case interrupted != nil && sent.Items == 0:
			if _, _, err := interrupted.run(ctx); err != nil {
				return DigestEnded{}, err
			}
		case sent.Unrecorded != nil:
			return DigestEnded{Status: notification.Sent}, record(ctx, acts.RecordDigest, *sent.Unrecorded, nil)
		case sent.Items == 0: // all were cancelled, and know it, or are told why
			return DigestEnded{Status: notification.Cancelled}, nil
		default:
			return DigestEnded{Status: notification.Sent}, nil
		}
	}
}

// giveUp ends what was sealed without sending it; where nothing was yet, what
// waits by now.
func (d *digest) giveUp(ctx workflow.Context, sealed activities.SealResult, ended DigestEnded) (activities.SealResult, error) {
	if len(sealed.Items) == 0 {
		var err error
		if sealed, err = d.seal(ctx, false); err != nil || len(sealed.Items) == 0 {
			return sealed, err
		}
	}
	return sealed, d.recordEnd(ctx, ended)
}

func (d *digest) recordEnd(ctx workflow.Context, ended DigestEnded) error {
	input := activities.GiveUpDigestInput{DigestID: d.id, Channel: d.Key.Channel, Status: ended.Status, Reason: ended.Reason}
	var result activities.GiveUpDigestResult
	err := record(ctx, acts.GiveUpDigest, input, &result)
	d.dropped = result.Dropped
	return err
}

// tell lets the items' own workflows end. One that has ended already was
// cancelled, or somebody terminated it: its failure is then recorded here, as it
// would have done.
func (d *digest) tell(ctx workflow.Context, items []string, ended DigestEnded) {
	told := make([]workflow.Future, len(items))
	for i, id := range items {
		told[i] = workflow.SignalExternalWorkflow(ctx, id, "", digestEnded, d.end(id, ended))
	}
	for i, id := range items {
		if err := told[i].Get(ctx, nil); err != nil && d.end(id, ended).Status == notification.Failed {
			input := activities.GiveUpInput{DeliveryID: id, Channel: d.Key.Channel, Status: ended.Status, Reason: ended.Reason}
			if err := record(ctx, acts.GiveUp, input, nil); err != nil {
				workflow.GetLogger(ctx).Error("failure not recorded", "delivery_id", id, "error", err)
			}
		}
	}
}

// end is how the digest ended for one of its items.
func (d *digest) end(item string, ended DigestEnded) DigestEnded {
	if reason, dropped := d.dropped[item]; dropped {
		return DigestEnded{Status: notification.Cancelled, Reason: reason}
	}
	return ended
}

// next is the digest of what was left, or has joined meanwhile.
func (d *digest) next(ctx workflow.Context, sealed activities.SealResult) (DigestInput, bool) {
	next := &digest{DigestInput: DigestInput{Key: d.Key, Window: d.Window, Policy: d.Policy, Until: sealed.Next}}
	if !sealed.Next.IsZero() { // what was left has joined already, and an operator may have meant one of them
		next.Joined, next.Hastened = max(0, d.Joined-len(sealed.Items)), d.Hastened
	}
	joins := workflow.GetSignalChannel(ctx, digestJoined)
	for id := ""; joins.ReceiveAsync(&id); {
		if !slices.Contains(sealed.Items, id) {
			next.Joined++
		}
	}
	if next.Joined == 0 && sealed.Next.IsZero() {
		return DigestInput{}, false
	}
	next.drain(ctx)
	if next.Until.IsZero() {
		next.Until = workflow.Now(ctx).Add(d.Window)
	}
	return next.DigestInput, true
}
