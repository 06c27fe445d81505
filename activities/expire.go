package activities

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
)

// DeliveryExpired is the type of failure of an attempt at a message that has expired.
const DeliveryExpired = "DeliveryExpired"

// expiredRetry is the time until the next attempt at an expired message. That attempt records the
// end.
const expiredRetry = time.Millisecond

// errExpired is the failure of an attempt whose message expired while it waited for its token. The
// next attempt at a digest sends the other items.
var errExpired = benign("the message expired while it waited for its turn", DeliveryExpired, expiredRetry)

// expired reports whether the message, or an item of the digest, has expired.
func (m *outgoing) expired() bool {
	return slices.ContainsFunc(m.begun, func(begun notification.Attempt) bool { return begun.Message.Expired() })
}

// releaseExpired gives back the leases of attempts because a delivery has expired. The expired
// deliveries become CANCELLED.
func (a *Activities) releaseExpired(ctx context.Context, begun []notification.Attempt) {
	for i := range begun {
		if begun[i].Message.Expired() {
			begun[i].Dropped = string(notification.DecisionExpired)
		}
	}
	a.release(ctx, begun)
}

// untilExpiry ends a call to the provider when the message expires.
func untilExpiry(ctx context.Context, message notification.Message) (context.Context, context.CancelFunc) {
	if message.SendBy.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, message.SendBy)
}
