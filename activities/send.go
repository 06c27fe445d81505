package activities

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// AttemptStore begins and ends attempts, for every sender.
type AttemptStore interface {
	// BeginAttempts returns one attempt per id, in their order.
	BeginAttempts(ctx context.Context, in notification.Begin) ([]notification.Attempt, error)
	ReleaseAttempts(ctx context.Context, attempts []notification.Attempt) error
	EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error)
}

// DeliveryStore is the part of the database that gives up and reschedules deliveries.
type DeliveryStore interface {
	GiveUp(ctx context.Context, deliveryID string, status notification.Status, reason string) (notification.Status, error)
	// Reschedule stores when an operator wants a delivery to be sent; zero: now, even in quiet hours.
	Reschedule(ctx context.Context, deliveryID string, until time.Time) error
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	DeliveryID string
	Channel    notification.Channel
	AttemptPolicy
	AttemptsBefore int  // of earlier runs of this delivery
	Ordered        bool `json:",omitempty"` // an operator orders the delivery, which overrides preferences and group settings
	Again          bool `json:",omitempty"` // with --again: send even if another event cancels the delivery's event
}

// SendResult is the result of [Activities.Send].
type SendResult struct {
	Status notification.Status
	notification.SentBy
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sent, and the next attempt is due then
	Wait      string    `json:",omitempty"` // NotBefore and the reason of the wait, as text
	InDigest  bool      `json:",omitempty"` // nothing was sent: its digest sends the delivery
	Dropped   string    `json:",omitempty"` // nothing was sent: the delivery is dropped for this reason
	NotSent   bool      `json:",omitempty"` // nothing was sent, and [Activities.Send] may send it now
	// Unrecorded is set if the provider accepted the message, but the database could not record it.
	// The workflow records it later, because sending it again would be a duplicate.
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// Send asks the delivery's row what to do. If the delivery is due, Send makes one attempt to hand it to
// its provider, and records the result. Otherwise it returns the status, or until when the delivery
// waits and why. If the process dies between the provider's answer and the record, the next attempt waits
// until the lease expires. It may then send the message a second time.
//
// Failures of the provider use up the attempts of the policy. Crashes, failures of
// Herald's database and rejections of our account do not.
func (a *Activities) Send(ctx context.Context, in SendInput) (SendResult, error) {
	done, _ := a.underWay.begin(in.Channel, 0)
	defer done()
	return a.send(ctx, in, false)
}

func (a *Activities) send(ctx context.Context, in SendInput, local bool) (SendResult, error) {
	all, err := a.begin(ctx, in.AttemptPolicy, notification.Begin{
		DeliveryIDs: []string{in.DeliveryID}, Before: in.AttemptsBefore, Ordered: in.Ordered, Again: in.Again,
	})
	if err != nil {
		return SendResult{}, failure(err)
	}
	switch {
	case all[0].WasBegun():
	case all[0].LeasedFor > 0:
		return SendResult{}, leased(all[0].LeasedFor)
	default:
		result, err := stepOf(all[0])
		if err == nil && result.NotSent { // the row became due after the attempt was refused
			err = leased(0)
		}
		return result, err
	}
	all[0].Message.Ordered = all[0].Message.Ordered || in.Ordered
	m := single(a, in.Channel, in.AttemptPolicy, all[0])
	m.local = local
	by, unrecorded, err := m.attempt(ctx)
	if errors.Is(err, errExpired) {
		return held(notification.Verdict{Dropped: string(notification.DecisionExpired)}), nil
	}
	if delay := retryDelay(err); delay >= longRetryDelay && !local {
		at := time.Now().Add(delay).UTC()
		return held(notification.Verdict{NotBefore: at, Wait: notification.InstantText(at) + ": " + waitReason(err)}), nil
	}
	if err != nil {
		return SendResult{}, err
	}
	countDeliveries(ctx, in.Channel, notification.Sent, 1) // even if not recorded: nothing sends it again
	return SendResult{Status: notification.Sent, SentBy: by, Unrecorded: unrecorded}, nil
}

// stepOf returns what a delivery without an attempt has to do next.
func stepOf(found notification.Attempt) (SendResult, error) {
	switch {
	case found.Status == "":
		return SendResult{}, failure(notification.ErrNoDelivery)
	case found.Held():
		return held(found.Verdict), nil
	case !found.Due():
		return SendResult{Status: found.Status, SentBy: found.SentBy}, nil
	default:
		return SendResult{Status: found.Status, InDigest: found.InDigest, NotSent: !found.InDigest}, nil
	}
}

// single returns the message of one delivery.
func single(a *Activities, channel notification.Channel, policy AttemptPolicy, begun notification.Attempt) *outgoing {
	return &outgoing{
		Activities: a, channel: channel, policy: policy, tried: begun.Tried, begun: []notification.Attempt{begun},
		result: notification.AttemptResult{DeliveryID: begun.Message.DeliveryID, Number: begun.Number, Owner: begun.Owner},
		write:  func() (notification.Message, error) { return written(begun) },
	}
}

// held returns the result of a delivery that may not be sent.
func held(v notification.Verdict) SendResult {
	return SendResult{Status: notification.Pending, NotBefore: v.NotBefore, Wait: v.Wait, Dropped: v.Dropped}
}

// written returns the message as it was written when the delivery was planned.
func written(begun notification.Attempt) (notification.Message, error) {
	if begun.Problem != "" {
		return notification.Message{}, errors.New(begun.Problem)
	}
	return begun.Message, nil
}
