package activities

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// DeliveryStore is what sending needs of the database.
type DeliveryStore interface {
	BeginAttempt(ctx context.Context, in notification.Begin) (notification.Attempt, error)
	// EndAttempt records the end of an attempt at a delivery, or at a digest.
	EndAttempt(ctx context.Context, result notification.AttemptResult) (notification.RecordedAttempt, error)
	GiveUp(ctx context.Context, deliveryID string, status notification.Status, reason string) (notification.Status, error)
	Failure(ctx context.Context, deliveryID string) (notification.DeadLetter, error)
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	DeliveryID string
	Channel    notification.Channel
	AttemptPolicy
	AttemptsBefore int  // of earlier runs of this delivery
	JudgeQuiet     bool // the delivery has waited: judge its quiet hours again
	Ordered        bool `json:",omitempty"` // by an operator, whose order stands above preferences and group settings
	Again          bool `json:",omitempty"` // with --again: also in spite of another event that takes its event back
	Look           bool `json:",omitempty"` // send nothing: say only whether it was sent
}

// SendResult is the result of [Activities.Send].
type SendResult struct {
	Status    notification.Status
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sent; it is quiet until then
	Wait      string    `json:",omitempty"` // the same for people
	Quiet     bool      // nothing was sent: the delivery is dropped for quiet hours
	Dropped   string    `json:",omitempty"` // nothing was sent: the delivery is dropped for this reason
	Full      bool      `json:",omitempty"` // nothing was sent: [Activities.SendFirst] leaves it to Send
	// Unrecorded is set when the provider accepted the message, but the database could
	// not record it. The workflow records it later; sending again would be a duplicate.
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// Send makes one attempt to hand a delivery to its provider, and records what
// came of it. An attempt that finds the delivery sent or cancelled does
// nothing. A process that dies between the provider's answer and our record
// leaves an attempt that never ended; only then the next one can be a repeat.
//
// Failures of the provider use up the attempts of the policy; crashes, failures of
// our own database and rejections of our account do not.
func (a *Activities) Send(ctx context.Context, in SendInput) (SendResult, error) {
	defer a.underWay.begin(in.Channel)()
	return a.send(ctx, in, 0)
}

// send sends a delivery; alone: see [notification.Begin].
func (a *Activities) send(ctx context.Context, in SendInput, alone time.Duration) (SendResult, error) {
	turn, err := a.turn(ctx, in.Channel)
	if err != nil {
		return SendResult{}, failure(err)
	}
	begun, err := a.begin(ctx, in, alone)
	switch {
	case err != nil:
		return SendResult{}, failure(err)
	case begun.UnderWay:
		return SendResult{}, lost(alone)
	case !begun.Due():
		return SendResult{Status: begun.Status}, nil
	case in.Look:
		return SendResult{Status: begun.Status, Full: true}, nil
	case begun.Held():
		return held(begun.Verdict), nil
	}
	unrecorded, err := a.attempt(ctx, outgoing{
		channel: in.Channel, policy: in.AttemptPolicy, turn: turn, tried: begun.Tried,
		result: notification.AttemptResult{DeliveryID: begun.Message.DeliveryID, Number: begun.Number},
		write:  func() (notification.Message, error) { return written(begun) },
	})
	if err != nil {
		return SendResult{}, err
	}
	countDeliveries(ctx, in.Channel, notification.Sent, 1) // recorded or not: nothing sends it again
	return SendResult{Status: notification.Sent, Unrecorded: unrecorded}, nil
}

func (a *Activities) begin(ctx context.Context, in SendInput, alone time.Duration) (notification.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Deliveries.BeginAttempt(ctx, notification.Begin{
		DeliveryID: in.DeliveryID, Before: in.AttemptsBefore, JudgeQuiet: in.JudgeQuiet, Ordered: in.Ordered, Again: in.Again, Alone: alone, Look: in.Look,
	})
}

// held is the result of a delivery that may not be sent.
func held(v notification.Verdict) SendResult {
	result := SendResult{Status: notification.Pending, NotBefore: v.NotBefore, Wait: v.Wait}
	if v.Dropped == notification.WaitQuietHours {
		result.Quiet = true // as in histories of release 0.2
	} else {
		result.Dropped = v.Dropped
	}
	return result
}

// written is the message as it was written when the delivery was planned.
func written(begun notification.Attempt) (notification.Message, error) {
	if begun.Problem != "" {
		return notification.Message{}, errors.New(begun.Problem)
	}
	return begun.Message, nil
}
