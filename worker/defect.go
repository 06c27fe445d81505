//go:build drill_defect

package main

import (
	"context"
	"sync/atomic"

	"herald/internal/channel"
	"herald/internal/notification"
)

// forgetful does not send some messages, but reports them as sent. The drill must find them lost.
type forgetful struct {
	channel.Sender
	sent atomic.Int64
}

// every is the number of messages of which one is lost.
const every = 20

func planted(sender channel.Sender) channel.Sender { return &forgetful{Sender: sender} }

func (f *forgetful) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if f.sent.Add(1)%every == 0 {
		return notification.Answer{}, nil
	}
	return f.Sender.Send(ctx, msg)
}
