//go:build drill_defect

package main

import (
	"context"
	"sync/atomic"

	"herald/internal/channel"
	"herald/internal/notification"
)

// forgetful reports some messages as sent, but does not send them. With it, the drill proves that its
// judge finds lost messages.
type forgetful struct {
	channel.Sender
	sent atomic.Int64
}

// every is the distance between two messages that are not sent.
const every = 20

func planted(sender channel.Sender) channel.Sender { return &forgetful{Sender: sender} }

func (f *forgetful) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if f.sent.Add(1)%every == 0 {
		return notification.Answer{}, nil
	}
	return f.Sender.Send(ctx, msg)
}
