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

// stamp is part of all ids and queues. It separates this run from workflows that a failed run left
// running: their steps would count as steps of this run.
var stamp = time.Now().UTC().Format("20060102T150405")

// prefix separates the recording's queues from the queues of an installation and of other runs.
var prefix = "histories-" + stamp

// serve runs a worker per queue, without sticky queues: their names contain this machine's name.
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
		w := worker.New(temporal, queue, worker.Options{MaxHeartbeatThrottleInterval: time.Second}) // a heartbeat learns of a cancellation
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

// happened waits until a history has events of these types, in this order.
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
