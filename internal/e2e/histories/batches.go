package main

import (
	"context"
	"time"

	"herald/activities"
	"herald/internal/notification"
)

// batchedEvents are the outcomes of bulk events.
func batchedEvents() []*scenario {
	mails := activities.PlanResult{Bulk: true, Lanes: []notification.Lane{{Channel: notification.Email}}}
	sent := large("notify_batched", 2, mails, mails)
	sent.also = map[string]string{"-lane-EMAIL": "lane_batched", "-batch-EMAIL-1": "batch_sent", "-batch-EMAIL-2": "batch_failed", "-staff29-EMAIL": "deliver_failed_in_batch"}
	cancelled := large("notify_batched_cancelled", 1, mails)
	cancelled.holds, cancelled.meanwhile = true, []step{underWay, cancel}
	cancelled.also = map[string]string{"-lane-EMAIL": "lane_batched_cancelled", "-batch-EMAIL-1": "batch_cancelled"}
	return []*scenario{sent, cancelled}
}

// ClaimFailed finds a delivery of the second batch that failed for good.
func (a *actors) ClaimFailed(_ context.Context, in activities.ClaimFailedInput) (activities.ClaimFailedResult, error) {
	if in.IDs.First == 10 {
		return activities.ClaimFailedResult{}, nil
	}
	failed := batch(in.EventID, "29", []notification.Channel{in.Lane.Channel}).Deliveries[0]
	return activities.ClaimFailedResult{Failed: []notification.FailedDelivery{{Delivery: failed, Reason: "sendgrid refused: 400"}}}, nil
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
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1999, Failed: 1}}, nil
	}
	later := map[string]time.Time{notification.DeliveryID(in.EventID, "staff", "10", in.Channel): time.Now().UTC().Add(time.Second)}
	if s.giveUps.Add(1) == 1 {
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 497, Failed: 1, Later: later}, More: true, Unrecorded: unrecorded}, nil
	}
	return activities.SendBatchResult{Left: true}, nil
}

// RecordBatch succeeds.
func (a *actors) RecordBatch(context.Context, activities.RecordBatchInput) error { return nil }
