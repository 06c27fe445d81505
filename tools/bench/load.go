package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/api/workflowservice/v1"

	"herald/tools/rig"
)

// loadRounds runs the rounds of the case load. Nobody gets a delivery: RabbitMQ gets each event's message.
type loadRounds struct {
	*installation

	Events int

	ofA, ofB       *meter
	rounds, looped int // rounds of each side so far
}

func load() *comparison {
	s := &loadRounds{}
	return &comparison{
		name:  "load",
		about: "events without deliveries, whose messages go to RabbitMQ, from before the commit of the rows to the last end",
		a:     "Herald: a workflow for each event",
		b:     "a loop without Temporal: locks 100 rows with SKIP LOCKED, publishes them with confirms and marks them",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Events, "events", 10_000, "events of a round, written at once")
		},
		open: s.open,
	}
}

func (s *loadRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	r, err := s.on(ctx, stage)
	if err != nil {
		return nil, nil, err
	}
	return r.a, r.b, nil
}

// on returns the rounds of a new installation.
func (s *loadRounds) on(ctx context.Context, stage *stage) (*loadRounds, error) {
	in, err := stage.herald(ctx, nil)
	if err != nil {
		return nil, err
	}
	r := *s
	r.installation = in
	r.ofA, r.ofB = newMeter(ctx, in.DB, in.worker.PID()), newMeter(ctx, in.DB, os.Getpid())
	return &r, in.BindQueue()
}

func (r *loadRounds) a(ctx context.Context) (*figures, error) {
	r.rounds++
	ids := newIDs(r.Name, r.rounds, r.Events)
	r.ofA.begin()
	began, err := r.write(ctx, "BENCH", ids...)
	if err != nil {
		return nil, err
	}
	if err := r.awaitEvents(ctx, ids); err != nil {
		return nil, err
	}
	var last time.Time
	const ended = "SELECT max(updated_at) FROM processed_event WHERE event_id = ANY ($1)"
	if err := r.DB.QueryRow(ctx, ended, ids).Scan(&last); err != nil {
		return nil, err
	}
	if err := r.awaitNoneRunning(ctx, r.Name+"-events"); err != nil {
		return nil, err
	}
	f := &figures{}
	f.add("events", "per minute", float64(r.Events)/last.Sub(began).Minutes())
	r.ofA.end(f, "event", r.Events)
	some, err := r.awaitClosed(ctx, ids[0], 1)
	some.add(f, "event", 1)
	return f, errors.Join(err, r.eachOnce(ids))
}

// awaitNoneRunning waits until no workflow of an event runs on a queue. It counts, because a list of all
// would cost Temporal more than some rounds.
func (r *loadRounds) awaitNoneRunning(ctx context.Context, queue string) error {
	query := fmt.Sprintf("WorkflowType IN ('NotifyEvent', 'BareParent') AND ExecutionStatus = 'Running' AND TaskQueue = '%s'", queue)
	return r.until(ctx, roundTime, "not all workflows close", func() (bool, error) {
		found, err := r.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		return found.GetCount() == 0, err
	})
}

// b ends rows of another source, which no poller of Herald claims.
func (r *loadRounds) b(ctx context.Context) (*figures, error) {
	const insert = `
		INSERT INTO event_outbox (event_id, source, event_type, aggregate_type, aggregate_id, payload)
		SELECT id, 'loop', 'BENCH', 'RESTAURANT', '1', '{"guests": 4}'
		FROM   unnest($1::text[]) id`

	r.looped++
	ids := newIDs(r.Name+"-loop", r.looped, r.Events)
	r.ofB.begin()
	began := time.Now()
	if _, err := r.DB.Exec(ctx, insert, ids); err != nil {
		return nil, err
	}
	if err := r.Channel(func(channel *amqp.Channel) error { return r.publishAll(ctx, channel) }); err != nil {
		return nil, err
	}
	f := &figures{}
	f.add("events", "per minute", float64(r.Events)/time.Since(began).Minutes())
	r.ofB.end(f, "event", r.Events)
	return f, r.eachOnce(ids)
}

// publishAll is the scheduler of the original documents: it publishes pages of rows until none is left.
func (r *loadRounds) publishAll(ctx context.Context, channel *amqp.Channel) error {
	if err := channel.Confirm(false); err != nil {
		return err
	}
	for {
		n, err := r.publishPage(ctx, channel)
		if err != nil || n == 0 {
			return err
		}
	}
}

func (r *loadRounds) publishPage(ctx context.Context, channel *amqp.Channel) (published int, err error) {
	const (
		page = `
			SELECT event_id, payload
			FROM   event_outbox
			WHERE  source = 'loop'
			AND    status = 'PENDING'
			ORDER  BY seq
			LIMIT  100
			FOR UPDATE SKIP LOCKED`
		mark = `
			UPDATE event_outbox
			SET    status = 'PROCESSED', published_at = now()
			WHERE  event_id = ANY ($1)`
	)
	type row struct {
		ID      string
		Payload []byte
	}
	tx, err := r.DB.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	found, _ := tx.Query(ctx, page) // CollectRows returns its error
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	ids, confirms := make([]string, len(rows)), make([]*amqp.DeferredConfirmation, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
		confirms[i], err = channel.PublishWithDeferredConfirmWithContext(ctx, rig.Exchange, "restaurant.bench", false, false, amqp.Publishing{
			ContentType: "application/json", DeliveryMode: amqp.Persistent, MessageId: row.ID, Type: "BENCH", Body: row.Payload,
		})
		if err != nil {
			return 0, err
		}
	}
	for _, confirm := range confirms {
		if _, err := confirm.WaitContext(ctx); err != nil {
			return 0, err
		}
	}
	if _, err := tx.Exec(ctx, mark, ids); err != nil {
		return 0, err
	}
	return len(rows), tx.Commit(ctx)
}

// eachOnce returns an error unless the queue has each event's message exactly once.
func (r *loadRounds) eachOnce(ids []string) error {
	found, err := r.ReadQueue()
	if err != nil {
		return err
	}
	var wrong []string
	for _, id := range ids {
		if found[id] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", id, found[id]))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d events are not in the queue once: %s", len(wrong), strings.Join(wrong[:min(len(wrong), 5)], ", "))
	}
	return nil
}
