package activities

import (
	"context"
	"sync"

	"go.temporal.io/sdk/activity"
	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// warnings logs each of its warnings once a minute rather than once per delivery.
type warnings struct {
	said sync.Map // by name: a *rate.Sometimes
}

func (w *warnings) occasionally(name string, say func()) {
	sometimes, _ := w.said.LoadOrStore(name, &rate.Sometimes{Interval: accountRetry})
	sometimes.(*rate.Sometimes).Do(say)
}

// rejected logs that a provider rejects our account.
func (w *warnings) rejected(ctx context.Context, channel notification.Channel, result notification.AttemptResult) {
	if result.Outcome != notification.OutcomeAccount {
		return
	}
	w.occasionally(string(channel), func() {
		activity.GetLogger(ctx).Error("a provider rejects our account: its deliveries wait, each is tried once a minute, and fails after 24 hours", "channel", channel, "answer", result.Detail)
	})
}

// tokensKept logs that dead device tokens could not be switched off.
func (w *warnings) tokensKept(ctx context.Context, why string) {
	if why == "" {
		return
	}
	w.occasionally("tokens kept", func() {
		activity.GetLogger(ctx).Warn("a dead device token stays in the directory, and every push finds it again", "why", why)
	})
}
