package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/workflows"
)

// executions holds Temporal's statistics about closed workflows.
type executions struct {
	transitions, events float64 // average per workflow
	closed              time.Time
}

// callsAtOnce limits the benchmark's concurrent calls to Temporal.
const callsAtOnce = 16

// awaitClosed waits until workflows have closed.
func awaitClosed(ctx context.Context, temporal client.Client, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callsAtOnce)
	for _, id := range ids {
		group.Go(func() error { return temporal.GetWorkflow(ctx, id, "").Get(ctx, nil) })
	}
	return group.Wait()
}

// describe returns the averages of the workflows, and the time when the last workflow closed.
func describe(ctx context.Context, temporal client.Client, ids []string) (e executions, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callsAtOnce)
	var mu sync.Mutex
	for _, id := range ids {
		group.Go(func() error {
			described, err := temporal.DescribeWorkflow(ctx, id, "")
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			info := described.RawResponse.GetWorkflowExecutionInfo()
			e.transitions += float64(info.GetStateTransitionCount()) / float64(len(ids))
			e.events += float64(info.GetHistoryLength()) / float64(len(ids))
			if at := info.GetCloseTime().AsTime(); at.After(e.closed) {
				e.closed = at
			}
			return nil
		})
	}
	return e, group.Wait()
}

// add adds both averages as figures. per names the thing that a workflow handles.
func (e executions) add(f *figures, per string) {
	f.add("state transitions per "+per, "", e.transitions)
	f.add("history events per "+per, "", e.events)
}

// describeBroadcast returns the counts for an event that was sent in batches over one channel,
// divided by its deliveries. They include the workflows of the event, the lane and the batches.
func describeBroadcast(ctx context.Context, temporal client.Client, eventID string, channel notification.Channel, deliveries int) (executions, error) {
	if err := awaitClosed(ctx, temporal, []string{eventID}); err != nil {
		return executions{}, err
	}
	ids := []string{eventID, workflows.LaneID(eventID, channel)}
	for n := 1; ; n++ {
		id := workflows.BatchID(eventID, channel, n)
		_, err := temporal.DescribeWorkflow(ctx, id, "")
		var none *serviceerror.NotFound
		if errors.As(err, &none) {
			break
		}
		if err != nil {
			return executions{}, err
		}
		ids = append(ids, id)
	}
	e, err := describe(ctx, temporal, ids)
	e.transitions *= float64(len(ids)) / float64(deliveries)
	e.events *= float64(len(ids)) / float64(deliveries)
	return e, err
}
