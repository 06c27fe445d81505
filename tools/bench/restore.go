package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// restoreSizes are the flags of the case restore: what is open when Temporal has lost everything.
type restoreSizes struct {
	Events  int
	Each    int
	Digests int
	Smaller int
}

func restore() *comparison {
	s := &restoreSizes{}
	return &comparison{
		name:  "restore",
		about: "how long until Temporal, which has lost everything, has the workflow of each open event, waiting delivery and digest again",
		a:     "all of them",
		b:     "a part, see --smaller",
		named: true, // it takes long
		pairs: 1,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Events, "events", 1000, "open events of A")
			flags.IntVar(&s.Each, "each", 100, "deliveries of each, which wait until tomorrow")
			flags.IntVar(&s.Digests, "digests", 10_000, "open digests of A, of one more event")
			flags.IntVar(&s.Smaller, "smaller", 10, "how many times fewer events and digests B has")
		},
		open: func(ctx context.Context, stage *stage) (a, b round, err error) {
			part := *s
			part.Events, part.Digests = max(1, s.Events/s.Smaller), max(1, s.Digests/s.Smaller)
			return s.round(stage), part.round(stage), nil
		},
		goals: []goal{{figure: "peak memory of the worker", most: 1.2}},
	}
}

// round returns a round in a new installation.
func (s restoreSizes) round(stage *stage) round {
	return func(ctx context.Context) (*figures, error) {
		in, err := stage.prepare(ctx)
		if err != nil {
			return nil, err
		}
		defer in.endAll(ctx)
		if err := in.insertOpen(ctx, s); err != nil {
			return nil, err
		}
		if in.worker, err = in.Start("worker", "--events", "--channels", "email"); err != nil {
			return nil, err
		}
		meter := newMeter(ctx, in.DB, in.worker.PID())
		meter.begin()
		began := time.Now()
		// The command fails until a worker polls.
		err = in.until(ctx, roundTime, "the worker does not poll", func() (bool, error) {
			return in.Starter(ctx, "restore", "--rate", "1000") == nil, nil
		})
		if err != nil {
			return nil, err
		}
		restored := time.Since(began)
		waiting := s.Events*s.Each + s.Digests
		for kind, want := range map[string]int{"DeliverNotification": waiting, "Digest": s.Digests} {
			if err := in.awaitRunning(ctx, kind, want); err != nil {
				return nil, err
			}
		}
		f := &figures{}
		f.add("until all workflows run", "min", time.Since(began).Minutes())
		f.add("starter restore", "s", restored.Seconds())
		meter.end(f, "waiting delivery", waiting)
		return f, nil
	}
}

// insertOpen inserts rows as Herald left them when Temporal was lost. Open events of type WAIT are of a
// group, and the event of type POINTS is for everybody.
func (in *installation) insertOpen(ctx context.Context, s restoreSizes) error {
	if err := in.makeCrowd(ctx, max(s.Each, s.Digests)); err != nil {
		return err
	}
	_, err := in.DB.Exec(ctx, fmt.Sprintf(`
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', '5', 'CUSTOMER', n::text, 'GUEST' FROM generate_series(1, %[2]d) n;
		INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path)
		VALUES ('WAIT', 'CUSTOMER', 'RESTAURANT', 'restaurantId'), ('POINTS', 'CUSTOMER', 'BROADCAST', NULL);
		INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, delay, digest_window)
		VALUES ('WAIT', 'EMAIL', true, 'DELAYED', '1 day', DEFAULT), ('POINTS', 'EMAIL', true, 'AGGREGATE', DEFAULT, '1 day');
		INSERT INTO notification_template (event_type, channel, title, body)
		SELECT type, 'EMAIL', 'Points', 'You earned points' FROM unnest('{WAIT,POINTS,POINTS.digest}'::text[]) type;

		CREATE TEMP TABLE open_event AS
		SELECT '%[1]s-open-' || n AS id, 'WAIT' AS type, %[2]d AS people FROM generate_series(1, %[3]d) n
		UNION ALL SELECT '%[1]s-digests', 'POINTS', %[4]d;
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, acknowledged_at)
		SELECT id, type, CASE type WHEN 'WAIT' THEN 'RESTAURANT' ELSE 'BROADCAST' END, '5', '{"restaurantId": 5}',
		       'PROCESSED', now(), now() FROM open_event;
		INSERT INTO processed_event (event_id) SELECT id FROM open_event;
		INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		SELECT id, 'CUSTOMER', n::text, '{"EMAIL": "SELECTED"}' FROM open_event, generate_series(1, people) n;
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, strategy,
		                          send_after)
		SELECT id, type, 'CUSTOMER', n::text, 'EMAIL', id || '-customer' || n || '-EMAIL', 'Points', 'You earned points',
		       'customer' || n || '@example.com', CASE type WHEN 'WAIT' THEN 'DELAYED' ELSE 'AGGREGATE' END,
		       CASE type WHEN 'WAIT' THEN now() + interval '1 day' END
		FROM   open_event, generate_series(1, people) n`,
		in.Name, s.Each, s.Events, s.Digests))
	return err
}

// awaitRunning waits until this many workflows of a type run.
func (in *installation) awaitRunning(ctx context.Context, kind string, want int) error {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND TaskQueue = '%s-email'", kind, in.Name)
	return in.until(ctx, broadcastTime, "the workflows do not all start", func() (bool, error) {
		found, err := in.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		return int(found.GetCount()) >= want, err
	})
}

// endAll terminates the waiting workflows of the installation, in the background.
func (in *installation) endAll(ctx context.Context) {
	terminate := &workflowservice.StartBatchOperationRequest_TerminationOperation{TerminationOperation: &batch.BatchOperationTermination{}}
	_, _ = in.Temporal.WorkflowService().StartBatchOperation(context.WithoutCancel(ctx), &workflowservice.StartBatchOperationRequest{
		Namespace: "default", JobId: in.Name, Reason: "the round has ended",
		VisibilityQuery: fmt.Sprintf("ExecutionStatus = 'Running' AND TaskQueue IN ('%[1]s-email', '%[1]s-events')", in.Name),
		Operation:       terminate,
	})
}
