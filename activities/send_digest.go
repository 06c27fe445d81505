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
	begun, held, err := a.beginDigest(ctx, in)
	if err != nil || !held.NotBefore.IsZero() {
		return SendDigestResult{NotBefore: held.NotBefore, Wait: held.Wait}, err
	}
	digest, err := a.readDigest(ctx, in)
	if err != nil {
		a.release(ctx, begun)
		return SendDigestResult{}, err
	}
	if len(begun) == 0 {
		return SendDigestResult{Items: digest.Sent, Dropped: digest.Dropped}, nil
	}
	by, unrecorded, err := a.attempt(ctx, a.digestMessage(in, digest, begun))
	if err != nil {
		return SendDigestResult{}, err
	}
	countDigest(ctx, in.Key.Channel, notification.Sent, len(begun))
	return SendDigestResult{SentBy: by, Items: len(begun), Dropped: digest.Dropped, Unrecorded: unrecorded}, nil
}

// beginDigest leases all items or none: if some items are leased or have to wait, it releases the
// other items.
func (a *Activities) beginDigest(
	ctx context.Context, in SendDigestInput,
) (begun []notification.Attempt, held notification.Verdict, err error) {
	reading, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	ids, err := a.Digests.DigestItems(reading, in.DigestID)
	if err != nil || len(ids) == 0 {
		return nil, held, err
	}
	all, err := a.begin(ctx, in.AttemptPolicy, notification.Begin{DeliveryIDs: ids, DigestID: in.DigestID, SkipQuiet: in.SkipQuiet})
	if err != nil {
		return nil, held, err
	}
	var busy time.Duration
	for _, item := range all {
		busy = max(busy, item.LeasedFor)
		if item.NotBefore.After(held.NotBefore) {
			held = item.Verdict
		}
		if item.Number > 0 {
			begun = append(begun, item)
		}
	}
	if busy > 0 {
		err = leased(busy)
	}
	if err != nil || !held.NotBefore.IsZero() {
		a.release(ctx, begun)
		return nil, held, err
	}
	return begun, held, nil
}

func (a *Activities) readDigest(ctx context.Context, in SendDigestInput) (notification.Digest, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Digests.ReadDigest(ctx, in.DigestID, in.Key)
}

// digestMessage returns the message that lists the items. If the items have different numbers of
// attempts, the lowest number counts. The digest expires with its first item.
func (a *Activities) digestMessage(in SendDigestInput, digest notification.Digest, begun []notification.Attempt) outgoing {
	key, last := in.Key, begun[len(begun)-1].Message
	m := outgoing{
		channel: key.Channel, policy: in.AttemptPolicy, begun: begun, tried: begun[0].Tried,
		result: notification.AttemptResult{DigestID: in.DigestID, Owner: begun[0].Owner},
	}
	items := make([]notification.DigestItem, len(begun))
	var first notification.Message // the first to expire
	for i, item := range begun {
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
		}
	}
	m.write = func() (notification.Message, error) {
		recipient := notification.Recipient{UserType: key.UserType, UserID: key.UserID, Name: last.Name, Locale: digest.Locale}
		text, err := a.DigestText(digest.Templates, key.EventType, key.Channel, recipient, items)
		message := last
		message.NotificationID, message.EventID, message.CorrelationID = 0, "", ""
		message.DeliveryID, message.Title, message.Body, message.URL = in.DigestID, text.Title, text.Body, text.URL
		message.ExpiresAt, message.SendBy = first.ExpiresAt, first.SendBy
		message.CollapseKey, message.Provider = "", begun[0].Message.Provider
		return message, err
	}
	return m
}
