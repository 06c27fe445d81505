package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
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
	Number    int                       // as [BatchID] has it
	Failed    bool                      `json:",omitempty"` // some FAILED before, when the event was started for the first time
	Priority  notification.Priority     // that most of them have
	Policy    activities.DeliveryPolicy // of the channel
}

// BatchResult is the result of [DeliverBatch].
type BatchResult struct {
	Sent   int // with the first attempt
	Failed int `json:",omitempty"` // for good, with the first attempt
	Alone  int `json:",omitempty"` // had a workflow of their own
}

// DeliverBatch makes up to 500 deliveries over one channel: the first attempts in one
// activity, which sends many at once. A delivery that fails for now leaves the batch and
// becomes a [DeliverNotification], as do those that were attempted before.
func DeliverBatch(ctx workflow.Context, in BatchInput) (BatchResult, error) {
	failed, err := failedBefore(ctx, in)
	if err != nil {
		return BatchResult{}, err
	}
	sent, err := sendBatch(ctx, in)
	result := BatchResult{Sent: sent.sent, Failed: sent.failed}
	if err != nil {
		return result, err
	}
	alone := failed.Deliveries
	if sent.left {
		left, err := listBatch(ctx, in, activities.ListInput{Left: true})
		if err != nil {
			return result, err
		}
		alone = append(alone, left.Deliveries...)
	}
	result.Alone = len(alone)
	return result, deliverAfterBatch(ctx, in, alone, sent)
}

// failedBefore are deliveries that get another run, since their event does. They are read
// before the batch is sent, which may fail others.
func failedBefore(ctx workflow.Context, in BatchInput) (activities.DeliveryBatch, error) {
	if !in.Failed {
		return activities.DeliveryBatch{}, nil
	}
	return listBatch(ctx, in, activities.ListInput{Failed: true})
}

func listBatch(ctx workflow.Context, in BatchInput, list activities.ListInput) (activities.DeliveryBatch, error) {
	list.EventID, list.IDs, list.Channel = in.EventID, in.IDs, in.Channel
	return execute[activities.DeliveryBatch](ctx, listOptions, acts.ListDeliveries, list)
}

// sentBatch is what the executions of a batch's activity came to.
type sentBatch struct {
	sent, failed int
	left         bool
	later        []map[string]time.Time
}

// due is when release 0.2 said that the next attempt at a delivery is due; zero: it said
// nothing.
func (s sentBatch) due(deliveryID string) time.Time {
	for _, later := range s.later {
		if at, found := later[deliveryID]; found {
			return at
		}
	}
	return time.Time{}
}

// sendBatch makes the first attempts. What could not be recorded is recorded before anything
// else is sent, even when the workflow was cancelled.
func sendBatch(ctx workflow.Context, in BatchInput) (all sentBatch, err error) {
	input := activities.SendBatchInput{
		EventID: in.EventID, Channel: in.Channel, IDs: in.IDs, Number: in.Number, AttemptPolicy: in.Policy.AttemptPolicy,
	}
	options := sendBatchOptions(in)
	for {
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("sending a batch: %d are sent; how far it is by now stands under Pending Activities", all.sent))
		sent, err := execute[activities.SendBatchResult](ctx, options, acts.SendBatch, input)
		if err != nil {
			return all, cmp.Or(ctx.Err(), err)
		}
		all.sent, all.failed, all.left = all.sent+sent.Sent, all.failed+sent.Failed, sent.Left
		all.later = append(all.later, sent.Later)
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

// sendBatchOptions give an execution five minutes. It begins messages in the first 20
// seconds, and then waits for those that are with the provider. A missing heartbeat shows
// that its worker died.
func sendBatchOptions(in BatchInput) workflow.ActivityOptions {
	options := heartbeating(5*time.Minute, activities.BatchHeartbeat, fmt.Sprintf("send batch %d by %s", in.Number, in.Channel))
	options.TaskQueue = BatchesQueue(in.Policy.TaskQueue)
	return options
}

// deliverAfterBatch runs the workflows of what has left the batch. Those whose next attempt
// is due later wait without holding up the others.
func deliverAfterBatch(ctx workflow.Context, in BatchInput, deliveries []notification.Delivery, sent sentBatch) error {
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("the batch is sent; %d deliveries have a workflow of their own", len(deliveries)))
	event := batchEvent{in.EventID, in.EventType, in.Aggregate}
	open := newLimiter(ctx, openDeliveries)
	for _, d := range deliveries {
		input := deliverInput(d, in.Policy)
		input.Next = cmp.Or(sent.due(d.DeliveryID), input.Next)
		one := func(ctx workflow.Context) { runDelivery(ctx, event, d, input) }
		if now := workflow.Now(ctx); input.Next.After(now) || input.SendAfter.After(now) {
			open.start(ctx, one)
		} else if err := open.run(ctx, one); err != nil {
			break
		}
	}
	return open.wait(ctx)
}

// batchOptions let a batch run again, as pageOptions do: only what was never attempted is
// sent by it.
func batchOptions(in BatchInput) workflow.ChildWorkflowOptions {
	options := partOptions(BatchID(in.EventID, in.Channel, in.Number), fmt.Sprintf("batch %d of the deliveries by %s", in.Number, in.Channel), false)
	options.Priority = Priority(in.Priority, in.Aggregate)
	options.Memo = map[string]any{"event_id": in.EventID}
	options.TypedSearchAttributes = temporal.NewSearchAttributes(
		EventTypeAttribute.ValueSet(in.EventType),
		AggregateAttribute.ValueSet(in.Aggregate.String()),
		ChannelAttribute.ValueSet(string(in.Channel)),
	)
	return options
}
