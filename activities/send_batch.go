package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// BatchStore is the part of the database that sending many deliveries at once needs.
type BatchStore interface {
	// BatchDeliveries reads the deliveries of a batch that were never attempted.
	BatchDeliveries(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) ([]string, error)
	// HasRemainingRows reports whether deliveries of a batch are PENDING.
	HasRemainingRows(ctx context.Context, eventID string, channel notification.Channel, ids notification.IDRange) (bool, error)
}

const (
	// BatchesAtOnce is the number of batches of a channel that a worker sends concurrently:
	// while the provider has a group of one batch, the database has a group of the other.
	BatchesAtOnce = 2
	// groupSize is the number of a batch's messages in flight. If a worker dies, up to groupSize
	// messages are sent twice. A smaller group costs the database more.
	groupSize = 64
	// BatchSends limits a channel's messages that a worker's batches have in flight.
	BatchSends = BatchesAtOnce * groupSize
	// batchStint is the minimum time during which an execution begins groups; the maximum is twice
	// as long. Then the batch goes back to the queue, behind more urgent work and batches of other
	// entities. The time is random, because batches that end at the same time would leave tokens of
	// a rate limit unused.
	batchStint = 10 * time.Second
	// BatchHeartbeat is the time that Temporal waits for a heartbeat. A batch sends one every
	// beatInterval, and learns of its cancellation from the answer.
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
	More         bool `json:",omitempty"` // the execution ended early: some deliveries were never attempted
	HasRemaining bool `json:",omitempty"` // some attempted deliveries are PENDING: each needs a separate workflow
	// Unrecorded holds attempts whose end the database could not record: one group at most. The
	// workflow records them later, because sending them again would be a duplicate.
	Unrecorded []notification.AttemptResult `json:",omitempty"`
}

// BatchProgress is the heartbeat of an execution. The next execution continues from it. It does not
// grow with the batch, because a delivery's row stores the time of its next attempt.
type BatchProgress struct {
	Sent    int
	Failed  int    `json:",omitempty"` // permanently
	Retried int    `json:",omitempty"` // failed temporarily: a separate workflow retries each
	Resting string `json:",omitempty"` // why the batch rests after each group, for people; empty: it does not rest
}

// SendBatch makes the first attempts at the deliveries of a batch. It sends many messages
// concurrently, and records them in sets. If an execution that died or another sender attempted a
// delivery before, SendBatch leaves the delivery to a separate workflow. So two executions send
// nothing twice, and a message that kills its process kills only one execution. The database begins
// the attempts of a group just before the group is sent, and leaves out cancelled deliveries.
//
// If it is cancelled, its time is over, or its worker stops, SendBatch begins no more groups and
// waits for the messages in flight. Not only the workflow cancels it: so does an operator who pauses
// or resets the activity, and a worker whose stop timeout ends.
func (a *Activities) SendBatch(ctx context.Context, in SendBatchInput) (SendBatchResult, error) {
	b, err := newBatch(ctx, a, in)
	if err != nil {
		return SendBatchResult{}, err
	}
	stop := heartbeats(ctx, beatInterval, func() any { return b.snapshot() })
	b.send(ctx)
	stop()
	return b.end(ctx)
}

// end returns the batch's result. If the database failed, or no token came, the activity fails
// and Temporal repeats it, unless the workflow has to record attempts first. A cancelled batch looks
// for remaining deliveries, too, because its workflow may continue.
func (b *batch) end(ctx context.Context) (SendBatchResult, error) {
	result := SendBatchResult{BatchProgress: b.progress, More: len(b.ids) > 0, Unrecorded: b.unrecorded}
	if len(b.unrecorded) > 0 {
		result.More = true
		return result, nil
	}
	if b.err != nil {
		activity.RecordHeartbeat(ctx, b.progress)
		return SendBatchResult{}, failure(b.err)
	}
	if result.More {
		return result, nil
	}
	var err error
	result.HasRemaining, err = b.left(context.WithoutCancel(ctx))
	return result, err
}

// left reports whether deliveries of the batch are PENDING.
func (b *batch) left(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return b.activities.Batches.HasRemainingRows(ctx, b.in.EventID, b.in.Channel, b.in.IDs)
}

// RecordBatch stores results that [Activities.SendBatch] could not store.
func (a *Activities) RecordBatch(ctx context.Context, in RecordBatchInput) error {
	recorded, err := a.Attempts.EndAttempts(ctx, in.Results)
	if err == nil {
		noteEnds(ctx, &a.warnings, in.Channel, in.Results, recorded)
	}
	return err
}

// RecordBatchInput is the input of [Activities.RecordBatch].
type RecordBatchInput struct {
	Channel notification.Channel
	Results []notification.AttemptResult
}
