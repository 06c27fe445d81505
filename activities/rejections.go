package activities

import (
	"context"
	"sync"

	"go.temporal.io/sdk/activity"
	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// rejections logs that a provider rejects our account, once a minute and channel
// rather than once per delivery.
type rejections struct {
	said sync.Map // by channel: a *rate.Sometimes
}

func (r *rejections) report(ctx context.Context, channel notification.Channel, result notification.AttemptResult) {
	if result.Outcome != notification.OutcomeAccount {
		return
	}
	sometimes, _ := r.said.LoadOrStore(channel, &rate.Sometimes{Interval: accountRetry})
	sometimes.(*rate.Sometimes).Do(func() {
		activity.GetLogger(ctx).Error("a provider rejects our account: its deliveries wait, each is tried once a minute, and fails after 24 hours", "channel", channel, "answer", result.Detail)
	})
}
