package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/workflows"
)

// relaySizes are the flags of the case relay.
type relaySizes struct {
	Events int `json:"events"`
}

func relay() *comparison {
	s := &relaySizes{}
	return &comparison{
		name:  "relay",
		about: "events of which nobody is told, from the outbox to a started workflow and a closed row, beside bare calls that start the same",
		a:     "Herald's poller, from before the commit of the rows to the last that is marked: claim, start, mark",
		b:     "bare ExecuteWorkflow of the same workflow with the same input, as many at once, from the first call to the last answer; the rows are there already",
		large: 3,
		sizes: s,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Events, "events", 2000, "events of a round")
		},
		open:  s.open,
		goals: []goal{{figure: "events", least: 0.9}},
	}
}

// relayRounds are both sides. One worker runs the workflows of both, which costs alike.
type relayRounds struct {
	relaySizes
	herald *herald
	meter  *meter
	rounds int
}

// untold is an event type without routes.
const untold = "UNTOLD"

func (s *relaySizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Events < 1 {
		return nil, nil, errors.New("there must be an event")
	}
	h, err := stage.herald(ctx, "PUBLISH_EVENTS=false")
	if err != nil {
		return nil, nil, err
	}
	r := &relayRounds{relaySizes: *s, herald: h, meter: newMeter(ctx, h.installation, h.worker.pid)}
	return r.a, r.b, nil
}

func (r *relayRounds) a(ctx context.Context) (*figures, error) {
	r.rounds++
	ids := newIDs(r.herald.name+"-a", r.rounds, r.Events)
	r.meter.begin(ctx)
	began, err := r.herald.write(ctx, ids, untold)
	if err != nil {
		return nil, err
	}
	err = r.herald.awaitCount(ctx, r.Events, "SELECT count(*) FROM event_outbox WHERE event_id = ANY ($1) AND status = 'PROCESSED'", ids)
	if err != nil {
		return nil, err
	}
	var last time.Time
	err = r.herald.db.QueryRow(ctx, "SELECT max(published_at) FROM event_outbox WHERE event_id = ANY ($1)"+notCounted, ids).Scan(&last)
	if err != nil {
		return nil, err
	}
	return r.found(ctx, last.Sub(began), ids)
}

func (r *relayRounds) b(ctx context.Context) (*figures, error) {
	ids := newIDs(r.herald.name+"-b", r.rounds, r.Events)
	_, err := r.herald.db.Exec(ctx, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		SELECT id, $2, 'RESTAURANT', '1', '{"guests": 4}', 'PROCESSED', now() FROM unnest($1::text[]) id`+notCounted, ids, untold)
	if err != nil {
		return nil, err
	}
	r.meter.begin(ctx)
	began := time.Now()
	if err := r.startBare(ctx, ids); err != nil {
		return nil, err
	}
	return r.found(ctx, time.Since(began), ids)
}

// startBare starts workflows as a poller does, without its table.
func (r *relayRounds) startBare(ctx context.Context, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(startsAtOnce)
	for _, id := range ids {
		group.Go(func() error {
			options := client.StartWorkflowOptions{
				ID: id, TaskQueue: workflows.EventsQueue(r.herald.name), StaticSummary: untold + " of RESTAURANT/1",
				TypedSearchAttributes: temporal.NewSearchAttributes(
					workflows.EventTypeAttribute.ValueSet(untold),
					workflows.AggregateAttribute.ValueSet(notification.Entity{Type: "RESTAURANT", ID: "1"}.String()),
				),
			}
			_, err := r.herald.temporal.ExecuteWorkflow(ctx, options, workflows.NotifyEventType, workflows.NotifyInput{EventID: id, Commands: workflows.Commands})
			return err
		})
	}
	return group.Wait()
}

// found makes the figures of a round, after all its workflows have closed.
func (r *relayRounds) found(ctx context.Context, took time.Duration, ids []string) (*figures, error) {
	if err := awaitClosed(ctx, r.herald.temporal, ids); err != nil {
		return nil, err
	}
	f, costs := &figures{}, &figures{}
	r.meter.end(ctx, costs, "event", len(ids))
	f.add("events", "per second", float64(len(ids))/took.Seconds())
	some, err := describe(ctx, r.herald.temporal, ids[:min(len(ids), describedEvents)])
	if err != nil {
		return nil, err
	}
	some.add(f, "event")
	f.all = append(f.all, costs.all...)
	return f, nil
}

// describedEvents is of how many events of a round Temporal is asked for its counts.
const describedEvents = 100
