package activities

import (
	"context"
	"time"

	"herald/internal/notification"
)

// SendDigestInput is the input of [Activities.SendDigest].
type SendDigestInput struct {
	DigestID string
	Key      notification.DigestKey
	AttemptPolicy
	SkipQuiet bool `json:",omitempty"` // ignore quiet hours: an operator sends the digest now
}

// SendDigestResult is the result of [Activities.SendDigest].
type SendDigestResult struct {
	notification.SentBy
	Items int // the number of items in the message; 0: all items were cancelled, and nothing was sent
	// Dropped holds the reasons why items are CANCELLED, by delivery id.
	Dropped   map[string]string `json:",omitempty"`
	NotBefore time.Time         `json:",omitzero"`  // set: nothing was sent, and the next attempt is due then
	Wait      string            `json:",omitempty"` // NotBefore as text
	// Unrecorded is as in [SendResult].
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// SendDigest makes one attempt to hand a digest to its provider, as [Activities.Send]
// does for one delivery, and records the result on each item. The message leaves out
// items that were cancelled since the last attempt, and items that the rules do not
// allow any more. If one item has to wait for the end of quiet hours, all items wait.
func (a *Activities) SendDigest(ctx context.Context, in SendDigestInput) (SendDigestResult, error) {
	d := &digestAttempt{Activities: a, in: in}
	held, err := d.lease(ctx)
	if err != nil || !held.NotBefore.IsZero() {
		return SendDigestResult{NotBefore: held.NotBefore, Wait: held.Wait}, err
	}
	if err := d.read(ctx); err != nil {
		a.release(ctx, d.begun)
		return SendDigestResult{}, err
	}
	if len(d.begun) == 0 {
		return SendDigestResult{Items: d.digest.Sent, Dropped: d.digest.Dropped}, nil
	}
	by, unrecorded, err := d.message().attempt(ctx)
	if err != nil {
		return SendDigestResult{}, err
	}
	countDigest(ctx, in.Key.Channel, notification.Sent, len(d.begun))
	return SendDigestResult{SentBy: by, Items: len(d.begun), Dropped: d.digest.Dropped, Unrecorded: unrecorded}, nil
}

// digestAttempt is the state of one [Activities.SendDigest].
type digestAttempt struct {
	*Activities
	in     SendDigestInput
	begun  []notification.Attempt // one for each item to send
	digest notification.Digest
}

// lease begins an attempt at each item, or at none: if some items are leased or have to wait, it
// releases the other items.
func (d *digestAttempt) lease(ctx context.Context) (held notification.Verdict, err error) {
	reading, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	ids, err := d.Digests.DigestItems(reading, d.in.DigestID)
	if err != nil || len(ids) == 0 {
		return held, err
	}
	all, err := d.begin(ctx, d.in.AttemptPolicy, notification.Begin{DeliveryIDs: ids, DigestID: d.in.DigestID, SkipQuiet: d.in.SkipQuiet})
	if err != nil {
		return held, err
	}
	var busy time.Duration
	for _, item := range all {
		busy = max(busy, item.LeasedFor)
		if item.NotBefore.After(held.NotBefore) {
			held = item.Verdict
		}
		if item.WasBegun() {
			item.Message.Ordered = d.in.SkipQuiet
			d.begun = append(d.begun, item)
		}
	}
	if busy > 0 {
		err = leased(busy)
	}
	if err != nil || !held.NotBefore.IsZero() {
		d.release(ctx, d.begun)
	}
	return held, err
}

func (d *digestAttempt) read(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	d.digest, err = d.Digests.ReadDigest(ctx, d.in.DigestID, d.in.Key)
	return err
}

// message returns the message that lists the items. If the items have different numbers of
// attempts, the lowest number counts. The digest expires with its first item.
func (d *digestAttempt) message() *outgoing {
	key, last := d.in.Key, d.begun[len(d.begun)-1].Message
	m := &outgoing{
		Activities: d.Activities, channel: key.Channel, policy: d.in.AttemptPolicy, begun: d.begun, tried: d.begun[0].Tried,
		result: notification.AttemptResult{DigestID: d.in.DigestID, Owner: d.begun[0].Owner},
	}
	items := make([]notification.DigestItem, len(d.begun))
	var first notification.Message // the first to expire
	for i, item := range d.begun {
		if by := item.Message; !by.SendBy.IsZero() && (first.SendBy.IsZero() || by.SendBy.Before(first.SendBy)) {
			first = by
		}
		if item.Begun < m.tried.Begun {
			m.tried = item.Tried
		}
		m.result.Items = append(m.result.Items, notification.ItemAttempt{DeliveryID: item.Message.DeliveryID, Attempt: item.Number})
		items[i] = notification.DigestItem{
			DeliveryID: item.Message.DeliveryID, EventID: item.Message.EventID, Title: item.Message.Title, Body: item.Message.Body,
			CreatedAt: item.Message.CreatedAt,
			Entity:    item.Message.Entity, EntityName: item.Message.EntityName, MemberRole: item.Message.MemberRole,
		}
	}
	m.write = func() (notification.Message, error) {
		recipient := d.digest.Recipient.WithAddress(key.Channel, last.To) // for links
		text, err := d.DigestText(d.digest.Templates, key.EventType, key.Channel, recipient, items)
		message := last
		message.Entity, message.EntityName, message.MemberRole, message.Reason = notification.Entity{}, "", "", ""
		message.NotificationID, message.EventID, message.CorrelationID = 0, "", ""
		message.DeliveryID, message.Title, message.Body, message.URL = d.in.DigestID, text.Title, text.Body, text.URL
		message.ExpiresAt, message.SendBy = first.ExpiresAt, first.SendBy
		message.CollapseKey, message.Provider = "", d.begun[0].Message.Provider
		return message, err
	}
	return m
}
