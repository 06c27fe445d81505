package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
)

var (
	sentChannels    = notification.Channels()[:2]
	waitingChannels = notification.Channels()[2:4]
)

// largeEvents returns the outcomes of events with lanes and pages.
func largeEvents() []*scenario {
	paged := large("notify_paged", 5, now(), now(), now())
	paged.also = map[string]string{"-lane-EMAIL": "lane_sent"}
	later := large("notify_paged_waiting", 2, now(), both())
	later.waits, later.also = 2*time.Second, map[string]string{"-lane-SMS-waiting": "lane_waiting", "-page-SMS-1-waiting": "page_waiting"}
	followed := large("notify_paged_followed", 1, activities.PlanResult{Lanes: now().Lanes[1:]}, now())
	followed.idle, followed.also = 2, map[string]string{"-lane-EMAIL": "lane_followed"}
	cancelled := large("notify_paged_cancelled", 1, now(), now())
	cancelled.send, cancelled.meanwhile = outage, []step{withOpenLane, cancel}
	cancelled.also = map[string]string{"-lane-EMAIL": "lane_cancelled"}
	cancelledLane := large("notify_lane_cancelled", 1, now(), now())
	cancelledLane.send, cancelledLane.meanwhile = emailOutage, []step{withOpenLane, cancelLane}
	cancelledWaiting := large("notify_paged_cancelled_waiting", 2, both(), both())
	cancelledWaiting.waits, cancelledWaiting.meanwhile = 24*time.Hour, []step{withWaitingPages, showing(enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED), cancel}
	cancelledWaiting.also = map[string]string{"-lane-SMS-waiting": "lane_cancelled_waiting", "-page-SMS-1-waiting": "page_cancelled_waiting"}
	late := large("notify_paged_cancelled_late", 1, now(), now())
	late.send, late.meanwhile = emailWhenReleased, cancelLate
	return []*scenario{paged, later, followed, cancelled, cancelledLane, cancelledWaiting, late}
}

// large returns an event whose lanes have this number of stretches each.
func large(name string, stretches int64, pages ...activities.PlanResult) *scenario {
	s := event(name, pages...)
	s.stretches = stretches
	return s
}

// now returns the plan of pages that are sent at once.
func now() activities.PlanResult {
	var planned activities.PlanResult
	for _, channel := range sentChannels {
		planned.Lanes = append(planned.Lanes, notification.Lane{Channel: channel})
	}
	return planned
}

// both returns the plan of pages with waiting deliveries.
func both() activities.PlanResult {
	planned := now()
	for _, channel := range waitingChannels {
		planned.Lanes = append(planned.Lanes, notification.Lane{Channel: channel, Waiting: true})
	}
	return planned
}

// withOpenLane waits until a delivery of one of the event's lanes has begun.
func withOpenLane(ctx context.Context, temporal client.Client, s *scenario) error {
	return openChild(ctx, temporal, s.id+"-lane-EMAIL", emailOf(s))
}

// cancelLane cancels one of the event's lanes.
func cancelLane(ctx context.Context, temporal client.Client, s *scenario) error {
	return temporal.CancelWorkflow(ctx, s.id+"-lane-EMAIL", "")
}

// emailOutage fails the e-mails, and sends the rest.
func emailOutage(ctx context.Context, s *scenario, in activities.SendInput) (activities.SendResult, error) {
	if in.Channel != notification.Email {
		return activities.SendResult{Status: notification.Sent}, nil
	}
	return outage(ctx, s, in)
}

// withWaitingPages waits until the deliveries of the event's waiting pages wait.
func withWaitingPages(ctx context.Context, temporal client.Client, s *scenario) error {
	for _, channel := range waitingChannels {
		for page := 1; page <= int(s.stretches); page++ {
			child := notification.DeliveryID(s.id, "staff", strconv.Itoa(page*10), channel)
			if err := awaitDescribed(ctx, temporal, child, func(*workflowservice.DescribeWorkflowExecutionResponse) bool { return true }); err != nil {
				return err
			}
			if err := happened(ctx, temporal, child, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
				return err
			}
			parent := fmt.Sprintf("%s-page-%s-%d-waiting", s.id, channel, page)
			started := enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
			if err := happened(ctx, temporal, parent, started, started, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED); err != nil {
				return err
			}
		}
	}
	return nil
}

// batchedEvents returns the outcomes of bulk events.
func batchedEvents() []*scenario {
	mails := activities.PlanResult{Bulk: true, Lanes: []notification.Lane{{Channel: notification.Email}}}
	sent := large("notify_batched", 2, mails, mails)
	sent.also = map[string]string{"-lane-EMAIL": "lane_batched", "-batch-EMAIL-1": "batch_sent", "-batch-EMAIL-2": "batch_failed", "-staff29-EMAIL": "deliver_failed_in_batch"}
	cancelled := large("notify_batched_cancelled", 1, mails)
	cancelled.holds, cancelled.meanwhile = true, []step{underWay, cancel}
	cancelled.also = map[string]string{"-lane-EMAIL": "lane_batched_cancelled", "-batch-EMAIL-1": "batch_cancelled"}
	return []*scenario{sent, cancelled}
}

// ClaimFailed returns a delivery of the second batch that failed for good.
func (a *actors) ClaimFailed(_ context.Context, in activities.ClaimFailedInput) (activities.ClaimFailedResult, error) {
	if in.IDs.First == 10 {
		return activities.ClaimFailedResult{}, nil
	}
	failed := batch(in.EventID, "29", []notification.Channel{in.Lane.Channel}).Deliveries[0]
	return activities.ClaimFailedResult{Failed: []notification.FailedDelivery{{Delivery: failed, Reason: "sendgrid refused: 400"}}}, nil
}

// SendBatch ends early in the first batch of an event, with an unrecorded result, and leaves
// deliveries to separate workflows. If the scenario holds, it sends until it is cancelled.
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
	if s.giveUps.Add(1) == 1 {
		return activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 497, Failed: 1}, More: true, Unrecorded: unrecorded}, nil
	}
	return activities.SendBatchResult{HasRemaining: true}, nil
}

// RecordBatch succeeds.
func (a *actors) RecordBatch(context.Context, activities.RecordBatchInput) error { return nil }
