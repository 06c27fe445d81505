package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// BatchInput names one batch of a broadcast's planned deliveries over a channel.
type BatchInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	Channel   notification.Channel
	IDs       notification.IDRange
	Number    int                       // the n of [BatchID]
	Priority  notification.Priority     // the priority of most deliveries
	Policy    activities.DeliveryPolicy // of the channel
	Again     bool                      `json:",omitempty"` // as in [NotifyInput]
}

// BatchResult is the result of [DeliverBatch].
type BatchResult struct {
	Sent   int // sent by the first attempt
	Failed int `json:",omitempty"` // permanently failed by the first attempt
	Pages  int `json:",omitempty"` // of deliveries that had a separate workflow each
}

// DeliverBatch sends up to 2,000 deliveries over one channel. One activity makes the first
// attempts, many concurrently. A delivery that fails temporarily, waits, or was attempted before,
// leaves the batch and becomes a [DeliverNotification] of a page. A delivery that fails permanently gets a workflow
// that fails, so that operators find it in Temporal.
func DeliverBatch(ctx workflow.Context, in BatchInput) (BatchResult, error) {
	result, err := deliverBatchOf(ctx, in)
	return result, endPart(ctx, in.part(), err)
}

func deliverBatchOf(ctx workflow.Context, in BatchInput) (BatchResult, error) {
	sent, err := sendBatch(ctx, in)
	result := BatchResult{Sent: sent.sent, Failed: sent.failed}
	if err != nil {
		return result, err
	}
	b := batchRest{in: in, open: newLimiter(ctx, openFailed), pages: newLimiter(ctx, openPages)}
	releaseWaiting(ctx, b.pages)
	err = b.showFailed(ctx)
	if err == nil && sent.left {
		result.Pages, err = b.deliverLeft(ctx)
	}
	return result, cmp.Or(err, b.open.wait(ctx), b.pages.waitTelling(ctx))
}

// part names the deliveries of the batch.
func (in BatchInput) part() notification.Part {
	return notification.Part{EventID: in.EventID, Lane: notification.Lane{Channel: in.Channel}, IDs: in.IDs}
}

func (in BatchInput) event() batchEvent {
	return batchEvent{in.EventID, in.EventType, in.Aggregate, in.Again}
}

// sentBatch holds the sums of a batch's executions.
type sentBatch struct {
	sent, failed int
	left         bool
}

// sendBatch makes the first attempts. If the activity could not record attempts, sendBatch records
// them before it sends anything else, even if the workflow was cancelled.
func sendBatch(ctx workflow.Context, in BatchInput) (all sentBatch, err error) {
	input := activities.SendBatchInput{
		EventID: in.EventID, Channel: in.Channel, IDs: in.IDs, Number: in.Number, AttemptPolicy: in.Policy.AttemptPolicy,
	}
	options := sendBatchOptions(in)
	for {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("sending a batch: %d are sent; see Pending Activities for the current progress", all.sent))
		sent, err := execute[activities.SendBatchResult](ctx, options, acts.SendBatch, input)
		if err != nil {
			return all, cmp.Or(ctx.Err(), err)
		}
		all.sent, all.failed, all.left = all.sent+sent.Sent, all.failed+sent.Failed, sent.HasRemaining
		if len(sent.Unrecorded) > 0 {
			ends := activities.RecordBatchInput{Channel: in.Channel, Results: sent.Unrecorded}
			if err := record(ctx, acts.RecordBatch, ends, nil); err != nil {
				return all, err
			}
		}
		if ctx.Err() != nil || !sent.More {
			return all, ctx.Err()
		}
	}
}

// sendBatchOptions gives an execution five minutes. It begins messages in the first 20 seconds, and
// then waits for the messages in flight. If a heartbeat is missing, the worker died.
func sendBatchOptions(in BatchInput) workflow.ActivityOptions {
	options := heartbeating(5*time.Minute, activities.BatchHeartbeat, fmt.Sprintf("send batch %d by %s", in.Number, in.Channel))
	options.TaskQueue = BatchesQueue(in.Policy.TaskQueue)
	return options
}
