package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// Signals that a waiting delivery understands.
const (
	SendNow    = "send-now"   // without arguments: stop waiting, quiet hours or not
	Reschedule = "reschedule" // a time.Time: wait until then instead
)

// The search attributes of Herald's workflows, all keywords. The first four are
// set when a workflow starts; HeraldOutcome only where the end is not SENT.
var (
	EventTypeAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldEventType")
	AggregateAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldAggregate") // RESTAURANT/5
	RecipientAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldRecipient") // RESTAURANT_USER/10
	ChannelAttribute   = temporal.NewSearchAttributeKeyKeyword("HeraldChannel")
	OutcomeAttribute   = temporal.NewSearchAttributeKeyKeyword("HeraldOutcome")
)

// SearchAttributes returns the names of all of them, for their registration.
func SearchAttributes() []string {
	return []string{
		EventTypeAttribute.GetName(), AggregateAttribute.GetName(), RecipientAttribute.GetName(),
		ChannelAttribute.GetName(), OutcomeAttribute.GetName(),
	}
}

// The types of the workflows that others are asked for, as Temporal names them.
const (
	NotifyEventType         = "NotifyEvent"
	NotifyChannelType       = "NotifyChannel"
	NotifyPageType          = "NotifyPage"
	DeliverNotificationType = "DeliverNotification"
)

// EventsQueue is the task queue of the pollers and the events.
func EventsQueue(prefix string) string { return prefix + "-events" }

// ChannelQueue is the task queue of one channel's deliveries.
func ChannelQueue(prefix string, channel notification.Channel) string {
	return prefix + "-" + strings.ToLower(string(channel))
}

// RecordsQueue is the task queue of what a channel's deliveries do beside calling
// the provider, which the channel's rate limit must not slow down: its own queue
// has that limit. channelQueue is [ChannelQueue].
func RecordsQueue(channelQueue string) string { return channelQueue + "-records" }

// besideSends is the context of a delivery or digest in which an activity goes to
// [RecordsQueue], unless its options name another.
func besideSends(ctx workflow.Context) workflow.Context {
	return workflow.WithTaskQueue(ctx, RecordsQueue(workflow.GetInfo(ctx).TaskQueueName))
}

// PollerID is the workflow ID of a source's n-th poller; n counts from 1.
func PollerID(prefix, source string, n int) string {
	if source == notification.HeraldSource {
		source = "outbox" // since before there were sources; no source may have this name
	}
	return fmt.Sprintf("%s-%s-poller-%d", prefix, source, n)
}

// DigestID is the workflow ID of a recipient's digest.
func DigestID(prefix string, key notification.DigestKey) string {
	return prefix + "-digest-" + key.String()
}

// SweepID is the id of the schedule that starts the sweeps, and the beginning of
// their workflow IDs.
func SweepID(prefix string) string { return prefix + "-sweep" }
