package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// rejections logs that a provider rejects our account, once a minute and channel
// rather than once per delivery.
type rejections struct {
	mu   sync.Mutex
	said map[notification.Channel]time.Time
}

func (r *rejections) report(ctx context.Context, channel notification.Channel, result notification.AttemptResult) {
	if result.Outcome != notification.OutcomeAccount || !r.due(channel, time.Now()) {
		return
	}
	activity.GetLogger(ctx).Error("a provider rejects our account: its deliveries wait, each is tried once a minute, and fails after 24 hours", "channel", channel, "answer", result.Detail)
}

func (r *rejections) due(channel notification.Channel, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if said, ok := r.said[channel]; ok && now.Sub(said) < accountRetry {
		return false
	}
	if r.said == nil {
		r.said = map[notification.Channel]time.Time{}
	}
	r.said[channel] = now
	return true
}
