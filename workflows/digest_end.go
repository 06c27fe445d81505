package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// giveUp records the end of items that were sealed but not sent. If nothing was sealed yet,
// it first seals the waiting items. If the digest was cancelled, it seals and ends the remaining
// items as well.
func (d *digest) giveUp(ctx workflow.Context, sealed activities.SealResult, ended DigestEnded) (all activities.SealResult, err error) {
	for {
		if len(sealed.Items) == 0 {
			if sealed, err = d.seal(ctx, false); err != nil || len(sealed.Items) == 0 {
				return all, err
			}
		}
		if err := d.recordEnd(ctx, ended); err != nil {
			return all, err
		}
		all.Items, all.Next = append(all.Items, sealed.Items...), sealed.Next
		if !d.cancelled || all.Next.IsZero() {
			return all, nil
		}
		sealed, all.Next = activities.SealResult{}, time.Time{}
	}
}

func (d *digest) recordEnd(ctx workflow.Context, ended DigestEnded) error {
	input := activities.GiveUpDigestInput{DigestID: d.id, Channel: d.Key.Channel, Status: ended.Status, Reason: ended.Reason}
	var result activities.GiveUpDigestResult
	err := record(ctx, acts.GiveUpDigest, input, &result)
	d.dropped = result.Dropped
	return err
}

// tell signals the end to the workflow of each item. A terminated workflow cannot record its
// failure, so tell records it.
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

// end returns the end of one item: a dropped item has a different end than the digest.
func (d *digest) end(item string, ended DigestEnded) DigestEnded {
	if reason, dropped := d.dropped[item]; dropped {
		return DigestEnded{Status: notification.Cancelled, Reason: reason}
	}
	return ended
}

// next returns the input of the next run, for items that did not fit or have joined meanwhile.
func (d *digest) next(ctx workflow.Context, sealed activities.SealResult) (DigestInput, bool) {
	next := &digest{DigestInput: DigestInput{Key: d.Key, Window: d.Window, Timed: d.Timed, Policy: d.Policy, Until: sealed.Next}}
	if !sealed.Next.IsZero() { // the items that did not fit have joined already, and an operator may have hastened them
		next.Joined, next.Hastened = max(0, d.Joined-len(sealed.Items)), d.Hastened
	}
	joins := workflow.GetSignalChannel(ctx, DigestJoined)
	for id := ""; joins.ReceiveAsync(&id); {
		if !slices.Contains(sealed.Items, id) {
			next.Joined++
		}
	}
	if next.Joined == 0 && sealed.Next.IsZero() {
		return DigestInput{}, false
	}
	next.receivePending(ctx)
	now := workflow.Now(ctx)
	switch {
	case next.Until.IsZero() && d.Timed: // the next run reads the due times of the items that joined
		next.Until, next.ReadyOnly = now, true
	case next.Until.IsZero():
		next.Until = now.Add(d.Window)
	case d.Timed && len(sealed.Items) > 0 && !next.Until.After(now): // the remaining items of a full digest
		next.ReadyOnly = true
	}
	return next.DigestInput, true
}
