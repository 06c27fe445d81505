package main

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"herald/internal/notification"
	"herald/workflows"
)

// prefix keeps the recording's queues apart from an installation's.
const prefix = "histories"

// serve runs a worker per queue, none of which remembers a workflow from one
// task to the next: the name of a queue for that would name this machine.
func serve(temporal client.Client, all []*scenario) (stop func(), err error) {
	worker.SetStickyWorkflowCacheSize(0)
	events := workflows.EventsQueue(prefix)
	queues := []string{events}
	for _, channel := range notification.Channels() {
		queue := workflows.ChannelQueue(prefix, channel)
		queues = append(queues, queue, workflows.RecordsQueue(queue), workflows.BatchesQueue(queue))
	}
	var started []worker.Worker
	stop = func() {
		for _, w := range started {
			w.Stop()
		}
	}
	for _, queue := range queues {
		w := worker.New(temporal, queue, worker.Options{MaxHeartbeatThrottleInterval: time.Second}) // by heartbeats a cancellation is heard
		for _, workflow := range workflows.All() {
			w.RegisterWorkflow(workflow)
		}
		w.RegisterActivity(newActors(temporal, all))
		if err := w.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("start worker: %w", err)
		}
		started = append(started, w)
	}
	return stop, nil
}

// happened waits until a history has had events of these types, in this order.
func happened(ctx context.Context, temporal client.Client, id string, types ...enums.EventType) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for events := temporal.GetWorkflowHistory(ctx, id, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("wait for %v of %s: %w", types[0], id, err)
		}
		if event.EventType == types[0] {
			types = types[1:]
		}
		if len(types) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s ended without %v", id, types[0])
}
