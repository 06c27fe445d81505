package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// Signals by which operators send a delivery or a digest now, or reschedule it.
const (
	SendNow    = "send-now"   // no argument: send now, even in quiet hours
	Reschedule = "reschedule" // argument: the time.Time at which to send
)

// Settled is the signal, without arguments, that tells an escalation that its delivery has
// ended, or that a receipt, an acknowledgement or a reader has changed the delivery's row.
const Settled = "settled"

// EscalationID is the workflow ID of a delivery's [Escalate]. No delivery's id ends like this.
func EscalationID(deliveryID string) string { return deliveryID + "-escalation" }

// The search attributes of Herald's workflows, all keywords. The first four are
// set when a workflow starts; HeraldOutcome only if the end is not SENT.
var (
	EventTypeAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldEventType")
	AggregateAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldAggregate") // RESTAURANT/5
	RecipientAttribute = temporal.NewSearchAttributeKeyKeyword("HeraldRecipient") // RESTAURANT_USER/10
	ChannelAttribute   = temporal.NewSearchAttributeKeyKeyword("HeraldChannel")
	OutcomeAttribute   = temporal.NewSearchAttributeKeyKeyword("HeraldOutcome")
)

// SearchAttributes returns the names of all search attributes, for their registration.
func SearchAttributes() []string {
	return []string{
		EventTypeAttribute.GetName(), AggregateAttribute.GetName(), RecipientAttribute.GetName(),
		ChannelAttribute.GetName(), OutcomeAttribute.GetName(),
	}
}

// The types of workflows: their names in Temporal.
const (
	NotifyEventType         = "NotifyEvent"
	NotifyChannelType       = "NotifyChannel"
	NotifyPageType          = "NotifyPage"
	DeliverBatchType        = "DeliverBatch"
	DeliverNotificationType = "DeliverNotification"
	FollowUpType            = "FollowUp"
	EscalateType            = "Escalate"
)

// EventsQueue is the task queue of the pollers and the events.
func EventsQueue(prefix string) string { return prefix + "-events" }

// ChannelQueue is the task queue of one channel's deliveries.
func ChannelQueue(prefix string, channel notification.Channel) string {
	return prefix + "-" + strings.ToLower(string(channel))
}

// RecordsQueue is the task queue of a channel's activities that do not call its
// provider. The channel's rate limit slows channelQueue, a [ChannelQueue], but not
// these activities.
func RecordsQueue(channelQueue string) string { return channelQueue + "-records" }

// BatchesQueue is the task queue of the activities that send the batches of a channel.
func BatchesQueue(channelQueue string) string { return channelQueue + "-batches" }

// BatchID is the workflow ID of the n-th batch of an event's deliveries over a channel; n
// counts from 1.
func BatchID(eventID string, channel notification.Channel, n int) string {
	return fmt.Sprintf("%s-batch-%s-%d", eventID, channel, n)
}

// LaneID is the workflow ID of the [NotifyChannel] for an event's deliveries over a channel without
// a wait.
func LaneID(eventID string, channel notification.Channel) string {
	return fmt.Sprintf("%s-lane-%s", eventID, channel)
}

// onRecordsQueue sends the activities of a delivery or digest to [RecordsQueue],
// unless their options name another queue.
func onRecordsQueue(ctx workflow.Context) workflow.Context {
	return workflow.WithTaskQueue(ctx, RecordsQueue(workflow.GetInfo(ctx).TaskQueueName))
}

// PollerID is the workflow ID of a source's n-th poller; n counts from 1.
func PollerID(prefix, source string, n int) string {
	if source == notification.HeraldSource {
		source = "outbox" // the pollers' id is older than sources; no source may have this name
	}
	return fmt.Sprintf("%s-%s-poller-%d", prefix, source, n)
}

// DigestID is the workflow ID of a recipient's digest.
func DigestID(prefix string, place notification.DigestPlace) string {
	return prefix + "-digest-" + place.Key.Name(place.Who)
}

// SweepID is the id of the schedule that starts [Sweep], and the prefix of its
// workflow IDs.
func SweepID(prefix string) string { return prefix + "-sweep" }

// RestoreID is the workflow ID of [Restore]. A dry run and each order about ambiguous rows have another
// one, so they join no restore without it.
func RestoreID(prefix string, in RestoreInput) string {
	switch {
	case in.DryRun:
		return prefix + "-restore-dry-run"
	case in.Resend != "":
		return prefix + "-restore-resend-" + strings.ToLower(string(in.Resend))
	default:
		return prefix + "-restore"
	}
}

// RepublishID is the workflow ID of [RepublishEvents].
func RepublishID(prefix string) string { return prefix + "-republish" }

// CleaningID is the id of the schedule that starts [CleanOutboxes], and the prefix of its
// workflow IDs.
func CleaningID(prefix string) string { return prefix + "-cleaning" }

// FollowUpID is the workflow ID of [FollowUp].
func FollowUpID(prefix string) string { return prefix + "-follow-up" }
