package activities

import (
	"context"

	"herald/internal/notification"
)

// SendDigestInput is the input of [Activities.SendDigest].
type SendDigestInput struct {
	DigestID string
	Key      notification.DigestKey
	AttemptPolicy
	JudgeQuiet bool `json:",omitempty"` // as [SealResult.JudgeItems] says
}

// SendDigestResult is the result of [Activities.SendDigest].
type SendDigestResult struct {
	Items int // how many the message listed; 0: all were cancelled, and nothing was sent
	// Dropped says why items are CANCELLED, by delivery id.
	Dropped map[string]string `json:",omitempty"`
	// Unrecorded is as in [SendResult].
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// SendDigest makes one attempt to hand a digest to its provider, as
// [Activities.Send] does for one delivery, and records on each of its items what
// came of it. The message leaves out items that were cancelled since the last
// attempt, and those that the rules do not allow any more.
func (a *Activities) SendDigest(ctx context.Context, in SendDigestInput) (SendDigestResult, error) {
	turn, err := a.turn(ctx, in.Key.Channel)
	if err != nil {
		return SendDigestResult{}, err
	}
	begun, err := a.beginDigest(ctx, in)
	if err != nil || len(begun.Items) == 0 {
		return SendDigestResult{Items: begun.Sent, Dropped: begun.Dropped}, err
	}
	ended := notification.AttemptResult{DigestID: in.DigestID}
	for _, item := range begun.Items {
		ended.Items = append(ended.Items, notification.ItemAttempt{DeliveryID: item.DeliveryID, Attempt: item.Attempt})
	}
	unrecorded, err := a.attempt(ctx, outgoing{
		channel: in.Key.Channel, policy: in.AttemptPolicy, turn: turn, tried: begun.Tried, result: ended,
		write: func() (notification.Message, error) { return a.writeDigest(in.Key, begun) },
	})
	if err != nil {
		return SendDigestResult{}, err
	}
	countDigest(ctx, in.Key.Channel, notification.Sent, len(begun.Items))
	return SendDigestResult{Items: len(begun.Items), Dropped: begun.Dropped, Unrecorded: unrecorded}, nil
}

func (a *Activities) beginDigest(ctx context.Context, in SendDigestInput) (notification.DigestAttempt, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Digests.BeginDigest(ctx, notification.BeginDigest{DigestID: in.DigestID, Key: in.Key, JudgeQuiet: in.JudgeQuiet})
}

// writeDigest writes the message that lists the items.
func (a *Activities) writeDigest(key notification.DigestKey, begun notification.DigestAttempt) (notification.Message, error) {
	text, err := a.DigestText(begun.Templates, key.EventType, key.Channel, begun.Recipient, begun.Items)
	message := begun.Message
	message.Title, message.Body = text.Title, text.Body
	return message, err
}
