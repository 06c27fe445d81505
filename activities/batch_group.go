package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// sendGroup begins an attempt at each delivery of a group, sends the deliveries that may be
// sent, and records the results. A cancellation does not interrupt calls to the provider. No call begins
// if the leases might run out during it: the process may have been paused.
func (b *batch) sendGroup(ctx context.Context, ids []string) {
	leasesEnd := time.Now().Add(b.in.Timeout + AttemptOverhead)
	uncancelled, cancel := context.WithDeadline(context.WithoutCancel(ctx), earliest(b.deadline, leasesEnd))
	defer cancel()
	begun, err := b.begin(uncancelled, ids)
	if err != nil {
		b.fail(err)
		return
	}
	results := b.sendAll(ctx, uncancelled, begun)
	if len(results) == 0 {
		return
	}
	recorded, err := b.record(uncancelled, results)
	if err != nil {
		b.fail(err, results...)
		return
	}
	noteEnds(uncancelled, &b.activities.warnings, b.in.Channel, results, recorded)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// begin starts attempts. It returns none for deliveries that may not be sent.
func (b *batch) begin(ctx context.Context, ids []string) ([]notification.Attempt, error) {
	all, err := b.activities.begin(ctx, b.in.AttemptPolicy, notification.Begin{DeliveryIDs: ids, First: true})
	var begun []notification.Attempt
	for _, attempt := range all {
		if attempt.WasBegun() {
			begun = append(begun, attempt)
		} else if attempt.Dropped != "" {
			countEnd(ctx, b.in.Channel, notification.Cancelled, attempt.Dropped)
		}
	}
	return begun, err
}

// sendAll hands messages to the provider as soon as they have their tokens, and returns when the
// provider has answered all of them. It gives messages back to the batch if their sender is paused, no token
// comes, the batch was cancelled or its worker stops. ctx ends with the batch; uncancelled lets
// running calls and records finish.
func (b *batch) sendAll(ctx, uncancelled context.Context, begun []notification.Attempt) []notification.AttemptResult {
	begun = b.withoutPaused(uncancelled, begun)
	waiting, cancel := context.WithTimeoutCause(ctx, tokenPatience, errNoToken)
	defer cancel()
	var expired []notification.Attempt
	var attempts []*groupAttempt
	var calls sync.WaitGroup
	next := 0
	for next < len(begun) {
		granted, err := b.activities.awaitTokens(waiting, b.in.Channel, len(begun)-next, true)
		if b.ended(ctx) { // no check of b.until: no other sender can use the tokens that are granted
			break
		}
		if err != nil {
			b.fail(err)
			break
		}
		for _, attempt := range begun[next : next+granted] {
			if attempt.Message.Expired() {
				expired = append(expired, attempt)
				continue
			}
			m := &groupAttempt{begun: attempt}
			attempts = append(attempts, m)
			calls.Go(func() { m.result, m.backedOff = b.sendOne(uncancelled, attempt) })
		}
		next += granted
	}
	b.drop(uncancelled, expired)
	if next < len(begun) {
		b.giveBack(uncancelled, begun[next:])
	}
	calls.Wait()
	results := b.settleBackedOff(uncancelled, attempts)
	countAttempts(uncancelled, b.in.Channel, results...)
	countDeliveries(uncancelled, b.in.Channel, notification.Sent, sentOf(results)) // even if not recorded: nothing sends them again
	tellBestEffort(uncancelled, b.in.Channel, results)
	return results
}

// withoutPaused returns the attempts whose sender is not paused. It gives the others back, and the batch
// begins no further group.
func (b *batch) withoutPaused(ctx context.Context, begun []notification.Attempt) (unpaused []notification.Attempt) {
	var paused []notification.Attempt
	for _, attempt := range begun {
		if err := b.activities.paused(b.in.Channel, attempt); err != nil {
			b.fail(err)
			paused = append(paused, attempt)
		} else {
			unpaused = append(unpaused, attempt)
		}
	}
	if len(paused) > 0 {
		b.giveBack(ctx, paused)
	}
	return unpaused
}

// drop ends deliveries that expired while they waited for their tokens.
func (b *batch) drop(ctx context.Context, expired []notification.Attempt) {
	if len(expired) == 0 {
		return
	}
	b.activities.releaseExpired(ctx, expired)
	for range expired {
		countEnd(ctx, b.in.Channel, notification.Cancelled, string(notification.DecisionExpired))
	}
}

// giveBack releases attempts that were not made. Another execution of the batch begins them again.
func (b *batch) giveBack(ctx context.Context, begun []notification.Attempt) {
	b.activities.release(ctx, begun)
	for _, attempt := range begun {
		b.ids = append(b.ids, attempt.Message.DeliveryID)
	}
}

// groupAttempt is an attempt of a group that got its token.
type groupAttempt struct {
	begun     notification.Attempt
	result    notification.AttemptResult
	backedOff bool // nothing was sent, so there is no result
}

// settleBackedOff returns the results of the attempts that did not back off. If all providers backed
// off, it gives the other attempts back, and the batch begins no further group. If only the
// destinations of some messages backed off, a separate workflow sends each of these messages.
func (b *batch) settleBackedOff(ctx context.Context, attempts []*groupAttempt) (results []notification.AttemptResult) {
	var backedOff []notification.Attempt
	for _, m := range attempts {
		if m.backedOff {
			backedOff = append(backedOff, m.begun)
		} else {
			results = append(results, m.result)
		}
	}
	switch {
	case len(backedOff) > 0 && b.allBackOff != nil:
		b.fail(b.allBackOff)
		b.giveBack(ctx, backedOff)
	case len(backedOff) > 0:
		b.activities.release(ctx, backedOff)
	}
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

// sendOne makes one attempt, and returns its result. backedOff reports that nothing was sent, because
// the message's destination or all providers back off. After a temporary failure a separate workflow
// retries the delivery. After a permanent failure the delivery is given up.
func (b *batch) sendOne(ctx context.Context, begun notification.Attempt) (result notification.AttemptResult, backedOff bool) {
	m := single(b.activities, b.in.Channel, b.in.AttemptPolicy, begun)
	err := m.try(ctx)
	if err == nil {
		b.note(func(p *BatchProgress) { p.Sent++ })
		return m.result, false
	}
	if backOff, ok := errors.AsType[*notification.BackOffError](err); ok && backOff.Alone {
		return result, true
	}
	if errors.Is(err, notification.ErrBackOff) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.allBackOff = backOffFailure(err, 1)
		return result, true
	}
	err = attemptFailure(m, err)
	if m.result.GiveUp = IsPermanent(err); m.result.GiveUp {
		b.note(func(p *BatchProgress) { p.Failed++ })
	} else {
		m.result.Next = time.Now().Add(b.in.delay(err)).UTC()
		b.note(func(p *BatchProgress) { p.Retried++ })
	}
	return m.result, false
}

// delay returns the time until the next attempt: the failure's delay, or else the policy's.
func (p AttemptPolicy) delay(err error) time.Duration {
	return cmp.Or(retryDelay(err), p.interval(0, 0))
}

func (b *batch) record(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return b.activities.Attempts.EndAttempts(ctx, results)
}

func (b *batch) note(change func(*BatchProgress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.progress)
}

// fail ends the batch after this group, and keeps results that could not be recorded.
func (b *batch) fail(err error, unrecorded ...notification.AttemptResult) {
	b.err = err
	for _, result := range unrecorded {
		result.DeadDevices = nil // tokens stay out of the history; the next push finds them again
		b.unrecorded = append(b.unrecorded, result)
	}
}

// noteEnds records the metrics and warnings of attempts that the database has ended.
func noteEnds(
	ctx context.Context, warnings *warnings, channel notification.Channel,
	results []notification.AttemptResult, recorded []notification.RecordedAttempt,
) {
	observeCommitToSent(ctx, channel, recorded...)
	failed := 0
	for i, end := range recorded {
		warnings.tokensKept(ctx, end.DeadTokensKept)
		if results[i].GiveUp && end.Status == notification.Failed {
			failed++
		}
	}
	countDeliveries(ctx, channel, notification.Failed, failed)
}

// tellBestEffort logs a group's failed deliveries on a channel that has no dead letters.
func tellBestEffort(ctx context.Context, channel notification.Channel, results []notification.AttemptResult) {
	failed := slices.DeleteFunc(slices.Clone(results), func(r notification.AttemptResult) bool { return !r.GiveUp })
	if channel.BestEffort() && len(failed) > 0 {
		activity.GetLogger(ctx).Warn("best-effort deliveries failed", "count", len(failed), "first", failed[0].DeliveryID,
			"reason", failed[0].Detail)
	}
}
