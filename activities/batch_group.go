package activities

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// sendGroup begins an attempt at each delivery of a group, sends those that may be sent, and
// records what came of them. No cancellation interrupts what is begun.
func (b *batch) sendGroup(ctx context.Context, ids []string, turn turn) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), b.deadline)
	defer cancel()
	begun, err := b.begin(ctx, ids)
	if err != nil {
		b.fail(err)
		return
	}
	results := b.sendAll(ctx, begun, turn)
	if len(results) == 0 {
		return
	}
	recorded, err := b.record(ctx, results)
	if err != nil {
		b.fail(err, results...)
		return
	}
	b.activities.noteEnds(ctx, b.in.Channel, results, recorded)
}

// begin begins attempts, and returns those that there are.
func (b *batch) begin(ctx context.Context, ids []string) ([]notification.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	all, err := b.activities.Batches.BeginAttempts(ctx, notification.BeginBatch{DeliveryIDs: ids, Batch: b.in.Number})
	var begun []notification.Attempt
	for _, attempt := range all {
		if attempt.Number > 0 {
			begun = append(begun, attempt)
		} else if attempt.Dropped != "" {
			countEnd(ctx, b.in.Channel, notification.Cancelled, attempt.Dropped)
		}
	}
	return begun, err
}

// sendAll hands all messages to the provider at the same time.
func (b *batch) sendAll(ctx context.Context, begun []notification.Attempt, turn turn) []notification.AttemptResult {
	results := make([]notification.AttemptResult, len(begun))
	var calls sync.WaitGroup
	for i, attempt := range begun {
		calls.Go(func() { results[i] = b.sendOne(ctx, attempt, turn) })
	}
	calls.Wait()
	countAttempts(ctx, b.in.Channel, results...)
	countDeliveries(ctx, b.in.Channel, notification.Sent, sentOf(results)) // recorded or not: nothing sends them again
	b.activities.tellBestEffort(ctx, b.in.Channel, results)
	return results
}

func sentOf(results []notification.AttemptResult) (sent int) {
	for _, result := range results {
		if result.Outcome == notification.OutcomeSent {
			sent++
		}
	}
	return sent
}

// sendOne makes one attempt. What fails for now is for a workflow of its own; what fails for
// good is given up.
func (b *batch) sendOne(ctx context.Context, begun notification.Attempt, turn turn) notification.AttemptResult {
	m := outgoing{
		channel: b.in.Channel, policy: b.in.AttemptPolicy, turn: turn, tried: begun.Tried,
		result: notification.AttemptResult{DeliveryID: begun.Message.DeliveryID, Number: begun.Number},
		write:  func() (notification.Message, error) { return written(begun) },
	}
	err := b.activities.try(ctx, &m)
	if err == nil {
		b.note(func(p *BatchProgress) { p.Sent++ })
		return m.result
	}
	err = attemptFailure(m, err)
	if m.result.GiveUp = isPermanent(err); m.result.GiveUp {
		b.note(func(p *BatchProgress) { p.Failed++ })
	} else {
		due := time.Now().Add(b.in.delay(err)).UTC()
		b.note(func(p *BatchProgress) { p.Later[m.result.DeliveryID] = due })
	}
	return m.result
}

// delay is the time until the next attempt, as a failure asks for or as the policy has it.
func (p AttemptPolicy) delay(err error) time.Duration {
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) && failed.NextRetryDelay() > 0 {
		return failed.NextRetryDelay()
	}
	return p.interval(0, 0)
}

func (b *batch) record(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return b.activities.Batches.EndAttempts(ctx, results)
}

func (b *batch) note(change func(*BatchProgress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.progress)
}

// fail begins no more, and keeps what could not be recorded.
func (b *batch) fail(err error, unrecorded ...notification.AttemptResult) {
	b.err = err
	for _, result := range unrecorded {
		result.DeadDevices = nil // tokens stay out of the history; the next push finds them again
		b.unrecorded = append(b.unrecorded, result)
	}
}

// noteEnds tells what the database said of the ends of attempts.
func (a *Activities) noteEnds(ctx context.Context, channel notification.Channel, results []notification.AttemptResult, recorded []notification.RecordedAttempt) {
	observeCommitToSent(ctx, channel, recorded...)
	failed := 0
	for i, end := range recorded {
		a.warnings.tokensKept(ctx, end.DeadTokensKept)
		if results[i].GiveUp && end.Status == notification.Failed {
			failed++
		}
	}
	countDeliveries(ctx, channel, notification.Failed, failed)
}

// tellBestEffort logs what failed of a group on a channel that has no dead letters.
func (a *Activities) tellBestEffort(ctx context.Context, channel notification.Channel, results []notification.AttemptResult) {
	failed := slices.DeleteFunc(slices.Clone(results), func(r notification.AttemptResult) bool { return !r.GiveUp })
	if channel.BestEffort() && len(failed) > 0 {
		activity.GetLogger(ctx).Warn("best-effort deliveries failed", "count", len(failed), "first", failed[0].DeliveryID, "reason", failed[0].Detail)
	}
}
