package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// A workflow records the end of its row before it completes, and repeats the record until the database
// has it. So an open row whose workflow completed has lost its end: Postgres failed over to a standby that
// lagged, or came back from a backup. Its message may have been sent. The row is ambiguous. Neither the
// sweep nor a restore sends it blindly: they count it, until an operator orders what to do.
//
// An operator who retries opens a row again, too, after its workflow has completed. If Temporal then loses
// the run of the retry, it still has the completed run. So that run must have closed after the row was
// opened.
//
// A batch sends deliveries that have no workflow. The batch is their witness: it completes after each
// delivery of its range has ended, or has a workflow.

// endedAfter reports whether the workflow completed after its row was opened. Zero: the row was opened
// together with the workflow.
func (e Execution) endedAfter(opened time.Time) bool {
	return e.State == WorkflowCompleted && e.ClosedAt.After(opened)
}

// ambiguousEvent treats an event whose row has lost its end as the operator ordered. If the event is sent
// again, it is planned again first: its deliveries may be lost, too.
func (s *sweepRun) ambiguousEvent(ctx context.Context, event notification.StuckEvent) error {
	switch {
	case s.resend == notification.ResendNone:
		return s.dropEvent(ctx, event.ID)
	case s.resend != notification.ResendAmbiguous:
		s.countAmbiguous(event.ID)
		return nil
	case event.Purged:
		return s.failEvent(ctx, event.ID, "its row in event_outbox is gone")
	}
	event.Again = true
	err := s.Sweeper.StartEventAgain(ctx, event.PendingEvent)
	if taken, ok := errors.AsType[*notification.IDTakenError](err); ok {
		return s.failEvent(ctx, event.ID, taken.Error())
	}
	if err != nil {
		return s.notStarted(ctx, event.ID, err)
	}
	s.found.Resent++
	return nil
}

// dropEvent ends an ambiguous event and its open deliveries, and sends nothing.
func (s *sweepRun) dropEvent(ctx context.Context, id string) error {
	dropped, err := s.cancelAll(ctx, id, notification.EndLost)
	s.found.Dropped += dropped
	if err != nil {
		return err
	}
	s.found.Dropped++
	return s.Sweeps.EndStuckEvent(ctx, id, notification.EventCancelled, s.age)
}

// ambiguousDelivery treats a delivery whose row has lost its end as the operator ordered.
func (s *sweepRun) ambiguousDelivery(ctx context.Context, delivery notification.StuckDelivery) error {
	switch s.resend {
	case notification.ResendNone:
		s.found.Dropped++
		_, err := s.giveUp(ctx, delivery, notification.Cancelled, string(notification.EndLost))
		return err
	case notification.ResendAmbiguous:
		started, err := s.startDelivery(ctx, delivery)
		if started {
			s.found.Resent++
		}
		return err
	default:
		s.countAmbiguous(delivery.DeliveryID)
		return nil
	}
}

// countAmbiguous counts an ambiguous row that stays as it is. A restore meets the row in several scans, and
// leaves the count to its check.
func (s *sweepRun) countAmbiguous(id string) {
	if s.kind != restores {
		s.found.AddAmbiguous(id)
	}
}

// isAmbiguous reports whether a PENDING delivery has lost its end.
func (s *sweepRun) isAmbiguous(ctx context.Context, delivery notification.StuckDelivery, event WorkflowState, own Execution) (bool, error) {
	if own.State != WorkflowUnknown || event != WorkflowCompleted || delivery.Retried {
		return own.endedAfter(delivery.ReopenedAt), nil
	}
	batches, err := s.completedBatches(ctx, delivery)
	has := func(ids notification.IDRange) bool { return ids.First <= delivery.ID && delivery.ID <= ids.Last }
	return slices.ContainsFunc(batches, has), err
}

// completedBatches returns the ranges of the completed batches of the delivery's event and channel. The
// deliveries of an event come one after the other, so it asks Temporal once for them.
func (s *sweepRun) completedBatches(ctx context.Context, delivery notification.StuckDelivery) ([]notification.IDRange, error) {
	known, found := s.event.batches[delivery.Channel]
	for n := 1; !found; n++ {
		if err := s.look(ctx); err != nil {
			return nil, err
		}
		batch, err := s.Sweeper.Batch(ctx, delivery.EventID, delivery.Channel, n)
		if err != nil {
			return nil, fmt.Errorf("look for the batch of a delivery: %w", err)
		}
		if batch.State == WorkflowCompleted {
			known = append(known, batch.IDs)
		}
		found = batch.State == WorkflowUnknown
		activity.RecordHeartbeat(ctx, s.found)
	}
	s.event.batches[delivery.Channel] = known
	return known, nil
}
