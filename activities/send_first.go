package activities

import (
	"context"
	"sync"
	"sync/atomic"

	"herald/internal/notification"
)

// FirstAttempts is the maximum number of sends of one channel in flight in this process at which a
// first attempt may begin as a local activity. Above it Temporal keeps the backlog, ordered by
// priority and fairness, and no workflow task waits for a provider that hangs.
const FirstAttempts = 32

// SendFirst is [Activities.Send] as a local activity, for the first attempt of a run. It
// leaves the delivery to Send if the channel has a rate limit, too many sends are in flight, or all
// providers rest.
//
// A local activity runs again when its worker or its workflow task is lost, perhaps while its first
// run is still calling the provider. The second run finds the first run's lease, and fails until
// the lease expires. Then Send reads the result of the first run.
func (a *Activities) SendFirst(ctx context.Context, in SendInput) (SendResult, error) {
	leftToSend := SendResult{Status: notification.Pending, NotSent: true}
	if a.Pace.Rate(in.Channel) > 0 {
		return leftToSend, nil
	}
	done, free := a.underWay.begin(in.Channel, FirstAttempts)
	if !free {
		return leftToSend, nil
	}
	defer done()
	result, err := a.send(ctx, in, true)
	if allProvidersRest(err) {
		return leftToSend, nil
	}
	return result, err
}

// underWay counts the sends of each channel that this process has in flight.
type underWay struct {
	sends sync.Map // by channel: an *atomic.Int64
}

// begin counts a send until done is called, unless limit sends are in flight; 0: no limit.
func (u *underWay) begin(channel notification.Channel, limit int64) (done func(), free bool) {
	found, _ := u.sends.LoadOrStore(channel, new(atomic.Int64))
	sends := found.(*atomic.Int64)
	done = func() { sends.Add(-1) }
	if sends.Add(1) > limit && limit > 0 {
		done()
		return nil, false
	}
	return done, true
}
