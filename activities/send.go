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

// DeliveryStore is the part of the database that gives up deliveries.
type DeliveryStore interface {
	GiveUp(ctx context.Context, deliveryID string, status notification.Status, reason string) (notification.Status, error)
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	DeliveryID string
	Channel    notification.Channel
	AttemptPolicy
	AttemptsBefore int  // of earlier runs of this delivery
	SkipQuiet      bool `json:",omitempty"` // ignore quiet hours: an operator sends the delivery now, or Temporal's clock says that they are over
	Ordered        bool `json:",omitempty"` // an operator orders the delivery, which overrides preferences and group settings
	Again          bool `json:",omitempty"` // with --again: send even if another event cancels the delivery's event
	StatusOnly     bool `json:",omitempty"` // send nothing, and only return the status
}

// SendResult is the result of [Activities.Send].
type SendResult struct {
	Status notification.Status
	notification.SentBy
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sent, and the next attempt is due then
	Quiet     bool      `json:",omitempty"` // NotBefore is the end of quiet hours
	Wait      string    `json:",omitempty"` // NotBefore as text
	Dropped   string    `json:",omitempty"` // nothing was sent: the delivery is dropped for this reason
	NotSent   bool      `json:",omitempty"` // nothing was sent: [Activities.SendFirst] leaves it to Send
	// Unrecorded is set if the provider accepted the message, but the database could not record it.
	// The workflow records it later, because sending it again would be a duplicate.
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// Send makes one attempt to hand a delivery to its provider, and records the result. If the
// delivery was sent or cancelled before, Send does nothing. If the process dies between the
// provider's answer and the record, the next attempt waits until the lease expires. It may then
// send the message a second time.
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
		DeliveryIDs: []string{in.DeliveryID}, Before: in.AttemptsBefore, SkipQuiet: in.SkipQuiet, Ordered: in.Ordered, Again: in.Again, StatusOnly: in.StatusOnly,
	})
	if err != nil {
		return SendResult{}, failure(err)
	}
	switch begun := all[0]; {
	case begun.Status == "":
		return SendResult{}, failure(notification.ErrNoDelivery)
	case begun.Held():
		return held(begun.Verdict), nil
	case !begun.Due():
		return SendResult{Status: begun.Status, SentBy: begun.SentBy}, nil
	case in.StatusOnly:
		return SendResult{Status: begun.Status, NotSent: true}, nil
	case begun.Number == 0:
		return SendResult{}, leased(begun.LeasedFor)
	}
	m := single(in.Channel, in.AttemptPolicy, all[0])
	m.local = local
	by, unrecorded, err := a.attempt(ctx, m)
	if errors.Is(err, errExpired) {
		return held(notification.Verdict{Dropped: string(notification.DecisionExpired)}), nil
	}
	if delay := retryDelay(err); delay >= longBackOff && !local {
		at := time.Now().Add(delay).UTC()
		return held(notification.Verdict{NotBefore: at, Wait: notification.InstantText(at) + ": the last attempt failed, and the next attempt is due then"}), nil
	}
	if err != nil {
		return SendResult{}, err
	}
	countDeliveries(ctx, in.Channel, notification.Sent, 1) // even if not recorded: nothing sends it again
	return SendResult{Status: notification.Sent, SentBy: by, Unrecorded: unrecorded}, nil
}

// single returns the message of one delivery.
func single(channel notification.Channel, policy AttemptPolicy, begun notification.Attempt) outgoing {
	return outgoing{
		channel: channel, policy: policy, tried: begun.Tried, begun: []notification.Attempt{begun},
		result: notification.AttemptResult{DeliveryID: begun.Message.DeliveryID, Number: begun.Number, Owner: begun.Owner},
		write:  func() (notification.Message, error) { return written(begun) },
	}
}

// held returns the result of a delivery that may not be sent.
func held(v notification.Verdict) SendResult {
	return SendResult{Status: notification.Pending, NotBefore: v.NotBefore, Quiet: v.Quiet, Wait: v.Wait, Dropped: v.Dropped}
}

// written returns the message as it was written when the delivery was planned.
func written(begun notification.Attempt) (notification.Message, error) {
	if begun.Problem != "" {
		return notification.Message{}, errors.New(begun.Problem)
	}
	return begun.Message, nil
}
