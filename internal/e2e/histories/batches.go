package main

import (
	"context"
	"time"

	"herald/activities"
	"herald/internal/notification"
)

// batchedEvents are the outcomes of events whose lanes go in batches.
func batchedEvents() []*scenario {
	mails := activities.PlanResult{Lanes: []notification.Lane{{Channel: notification.Email}}}
	sent := large("notify_batched", 2, mails, mails)
	sent.also = map[string]string{"-lane-EMAIL": "lane_batched", "-batch-EMAIL-1": "batch_sent", "-batch-EMAIL-2": "batch_repeated"}
	cancelled := large("notify_batched_cancelled", 1, mails)
	cancelled.holds, cancelled.meanwhile = true, []step{underWay, cancel}
	cancelled.also = map[string]string{"-lane-EMAIL": "lane_batched_cancelled", "-batch-EMAIL-1": "batch_cancelled"}
	for _, s := range []*scenario{sent, cancelled} {
		s.batched = true
	}
	return []*scenario{sent, cancelled}
}

// sizeOf is what a lane learns of its size: at first nothing, where its event still plans.
func (s *scenario) sizeOf() activities.LaneSize {
	switch {
	case !s.batched:
		return activities.LaneSmall
	case len(s.pages) > 1 && s.polls.Add(1) == 1:
		return activities.LaneOpen
	default:
		return activities.LaneBulk
	}
}

// inBatches adds what a lane in batches is told of a stretch: that some of the second FAILED
// before.
func inBatches(next activities.NextResult, in activities.NextInput) activities.NextResult {
	if next.Size == activities.LaneBulk && next.Last > 0 {
		mail := policy(in.Lane.Channel)
		next.Policy, next.Priority, next.Failed = &mail, notification.Normal, next.First > 10
	}
	return next
}

// SendBatch ends early in the first batch of an event, with a record to be made, and leaves
// deliveries to workflows of their own. Where the scenario holds, it sends until it is cancelled.
func (a *actors) SendBatch(ctx context.Context, in activities.SendBatchInput) (activities.SendBatchResult, error) {
	s := a.of(in.EventID)
	unrecorded := []notification.AttemptResult{{DeliveryID: notification.DeliveryID(in.EventID, "staff", "1", in.Channel), Number: 1, Outcome: notification.OutcomeSent}}
	if s.holds {
		close(s.reached)
		beatUntilCancelled(ctx)
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1}, More: true, Unrecorded: unrecorded}, nil
	}
	if in.Number > 1 {
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 500}}, nil
	}
	later := map[string]time.Time{notification.DeliveryID(in.EventID, "staff", "10", in.Channel): time.Now().UTC().Add(time.Second)}
	if s.giveUps.Add(1) == 1 {
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 497, Failed: 1, Later: later}, More: true, Unrecorded: unrecorded}, nil
	}
	return activities.SendBatchResult{Left: true}, nil
}

// RecordBatch succeeds.
func (a *actors) RecordBatch(context.Context, activities.RecordBatchInput) error { return nil }
