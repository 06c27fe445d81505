package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// BatchStore is the part of the database that sending many deliveries at once needs.
type BatchStore interface {
	// BatchDeliveries reads which deliveries of a batch were never attempted.
	BatchDeliveries(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) ([]string, error)
	// BatchLeft reports whether deliveries of a batch are PENDING.
	BatchLeft(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) (bool, error)
}

const (
	// BatchesAtOnce is the number of batches of a channel that a worker sends at the same time:
	// while the provider has a group of the one, the database has one of the other.
	BatchesAtOnce = 2
	// groupSize is the number of messages of a batch that are handed to the provider at the same
	// time. So many may be sent twice where a worker dies; fewer cost the database more.
	groupSize = 64
	// BatchSends is the number of messages of a channel that the batches of a worker have with
	// the provider at most.
	BatchSends = BatchesAtOnce * groupSize
	// batchStint is the time that an execution begins groups: so long at least, and twice as long
	// at most. Then the batch goes back to the queue, where what is more urgent goes first,
	// and then batches of other entities. It is drawn by lot, since batches that began
	// together and end together leave turns of a rate limit to nobody.
	batchStint = 10 * time.Second
	// BatchHeartbeat is the time that Temporal waits for a sign of life. A batch gives one every
	// beatInterval, and so hears that often whether it is cancelled.
	BatchHeartbeat = 30 * time.Second
	beatInterval   = time.Second
)

// SendBatchInput is the input of [Activities.SendBatch].
type SendBatchInput struct {
	EventID string
	Channel notification.Channel
	IDs     notification.IDRange
	Number  int // of the batch, among the batches of its event and channel
	AttemptPolicy
}

// SendBatchResult is the result of [Activities.SendBatch].
type SendBatchResult struct {
	BatchProgress
	More         bool `json:",omitempty"`     // it ended early: there are deliveries that were never attempted
	HasRemaining bool `json:"Left,omitempty"` // deliveries that were attempted are PENDING: each needs a separate workflow
	// Unrecorded are attempts whose end the database could not record: the attempts of one group at
	// most. The workflow records them later; sending again would be a duplicate.
	Unrecorded []notification.AttemptResult `json:",omitempty"`
}

// BatchProgress is an execution's heartbeat, with which the next one continues. It does
// not grow with the batch: when the next attempt at a delivery is due is in its row.
type BatchProgress struct {
	Sent    int
	Failed  int                  `json:",omitempty"` // for good
	Retried int                  `json:",omitempty"` // failed for now: each has a separate workflow next
	Resting string               `json:",omitempty"` // why the batch rests after each group, for people; empty: it does not
	Later   map[string]time.Time `json:",omitempty"` // of release 0.2: when the next attempt is due, by delivery id
}

// SendBatch makes the first attempts at the deliveries of a batch: many at once, and
// recorded in sets. Whatever was attempted before, by an execution that died or by anybody
// else, it leaves to a separate workflow. So two executions send nothing twice, and a
// message that kills its process kills one of them. Each group is begun in the database just
// before it is sent, which leaves out what is cancelled by then.
//
// When it is cancelled, its time is over, or its worker stops, it begins no more and waits
// for what is with the provider.
func (a *Activities) SendBatch(ctx context.Context, in SendBatchInput) (SendBatchResult, error) {
	ids, err := a.batchDeliveries(ctx, in)
	if err != nil {
		return SendBatchResult{}, err
	}
	b := newBatch(ctx, a, in, ids)
	b.beatWhile(func() { b.send(ctx) })
	return b.end(ctx)
}

func (a *Activities) batchDeliveries(ctx context.Context, in SendBatchInput) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Batches.BatchDeliveries(ctx, in.EventID, in.Channel, in.IDs)
}

// end is the batch's result. Where the database failed, or no turn came, the activity fails
// and Temporal repeats it, unless attempts have to be recorded first.
func (b *batch) end(ctx context.Context) (SendBatchResult, error) {
	result := SendBatchResult{BatchProgress: b.progress, More: len(b.ids) > 0, Unrecorded: b.unrecorded}
	if len(b.unrecorded) > 0 {
		result.More = true
		return result, nil
	}
	if b.err != nil && ctx.Err() == nil {
		activity.RecordHeartbeat(ctx, b.progress)
		return SendBatchResult{}, failure(b.err)
	}
	if result.More || ctx.Err() != nil {
		return result, nil
	}
	var err error
	result.HasRemaining, err = b.left(ctx)
	return result, err
}

// left reports whether deliveries of the batch are still to be made.
func (b *batch) left(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return b.activities.Batches.BatchLeft(ctx, b.in.EventID, b.in.Channel, b.in.IDs)
}

// RecordBatch writes down what [Activities.SendBatch] could not.
func (a *Activities) RecordBatch(ctx context.Context, in RecordBatchInput) error {
	recorded, err := a.Attempts.EndAttempts(ctx, in.Results)
	if err == nil {
		a.noteEnds(ctx, in.Channel, in.Results, recorded)
	}
	return err
}

// RecordBatchInput is the input of [Activities.RecordBatch].
type RecordBatchInput struct {
	Channel notification.Channel
	Results []notification.AttemptResult
}
