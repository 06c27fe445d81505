package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"herald/outbox"
	"herald/tools/rig"
)

// deliveryRounds runs the rounds of the case deliveries.
type deliveryRounds struct {
	*installation

	Events     int
	Recipients int

	bare     *bare // nil: there is no B
	ofA, ofB *meter
	rounds   int
}

func deliveries() *comparison {
	s := &deliveryRounds{}
	return &comparison{
		name:  "deliveries",
		about: "events with some deliveries each, from the outbox row to SENT, and the least that Temporal can do of that",
		a:     "Herald, from before the commit of the rows to the last SENT; the sandbox answers at once",
		b:     "bare Temporal, from the first start to the last activity: a parent for each event, a child for each delivery, and an activity",
		flags: s.flags,
		open:  s.open,
		goals: []goal{{figure: "deliveries", least: 1.5}},
	}
}

func (s *deliveryRounds) flags(flags *flag.FlagSet) {
	flags.IntVar(&s.Events, "events", 100, "events of a round, written at once")
	flags.IntVar(&s.Recipients, "recipients", 6, "recipients of each, with one delivery each")
}

func (s *deliveryRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	in, err := stage.herald(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.on(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	r.bare, err = newBare(in)
	return r.round, r.bareRound, err
}

// on returns the rounds of a started installation.
func (s *deliveryRounds) on(ctx context.Context, in *installation) (*deliveryRounds, error) {
	r := *s
	r.installation = in
	r.ofA, r.ofB = newMeter(ctx, in.DB, in.worker.PID()), newMeter(ctx, in.DB, os.Getpid())
	return &r, in.makeRestaurant(ctx, s.Recipients)
}

// makeRestaurant inserts a restaurant whose staff gets an e-mail for each event of type BENCH.
func (in *installation) makeRestaurant(ctx context.Context, staff int) error {
	_, err := in.DB.Exec(ctx, fmt.Sprintf(`
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT 'RESTAURANT_USER', n::text, 'Ada ' || n, 'staff' || n || '@example.com' FROM generate_series(1, %[1]d) n;
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', '1', 'RESTAURANT_USER', n::text, 'WAITER' FROM generate_series(1, %[1]d) n;
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('BENCH', 'EMAIL');
		INSERT INTO notification_template (title, body)
		VALUES ('A table for {{.payload.guests}}', 'Dear {{.recipient.name}}, a table for {{.payload.guests}} is wanted.')`, staff))
	return err
}

// write commits events of one type, and returns the time before the commit.
func (in *installation) write(ctx context.Context, eventType string, ids ...string) (time.Time, error) {
	load := rig.Load{DB: in.DB}
	for _, id := range ids {
		load.Add(outbox.Event{ID: id, Type: eventType, AggregateType: "RESTAURANT", AggregateID: "1", Payload: map[string]int{"guests": 4}})
	}
	return load.Commit(ctx, load.Events...)
}

// newIDs returns ids for the events of a round.
func newIDs(prefix string, round, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d-%d", prefix, round, i)
	}
	return ids
}

// awaitEvents waits until all events have ended well.
func (in *installation) awaitEvents(ctx context.Context, ids []string) error {
	return in.awaitCount(ctx, len(ids), "SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS'", ids)
}

func (r *deliveryRounds) round(ctx context.Context) (*figures, error) {
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
	var sent []string
	var last time.Time
	err = r.DB.QueryRow(ctx, `
		SELECT array_agg(delivery_id), max(sent_at)
		FROM   notification
		WHERE  event_id = ANY ($1)
		AND    status = 'SENT'`, ids).Scan(&sent, &last)
	if err == nil && len(sent) != r.Events*r.Recipients {
		err = fmt.Errorf("%d deliveries are SENT, of %d", len(sent), r.Events*r.Recipients)
	}
	if err != nil {
		return nil, err
	}
	return r.found(ctx, r.ofA, began, last, ids, sent)
}

func (r *deliveryRounds) bareRound(ctx context.Context) (*figures, error) {
	r.bare.rounds++
	ids := newIDs(r.bare.name, r.bare.rounds, r.Events)
	r.ofB.begin()
	began := time.Now()
	if err := r.bare.run(ctx, ids, r.Recipients); err != nil {
		return nil, err
	}
	var children []string
	for _, id := range ids {
		for n := range r.Recipients {
			children = append(children, childID(id, n))
		}
	}
	return r.found(ctx, r.ofB, began, r.bare.lastActivity(), ids, children)
}

// found returns the figures of a round after its workflows have closed.
func (r *deliveryRounds) found(ctx context.Context, m *meter, began, last time.Time, ids, sent []string) (*figures, error) {
	prefix, _ := strings.CutSuffix(ids[0], "-0")
	closed, err := r.awaitClosed(ctx, prefix, r.Events*(1+r.Recipients))
	if err != nil {
		return nil, err
	}
	f, costs := &figures{}, &figures{}
	m.end(costs, "delivery", len(sent))
	ofEvents := closed.with(ids)
	f.add("deliveries", "per second", float64(len(sent))/last.Sub(began).Seconds())
	f.add("deliveries until all workflows have closed", "per second", float64(len(sent))/ofEvents.end().Sub(began).Seconds())
	ofEvents.add(f, "event", len(ids))
	closed.with(sent).add(f, "delivery", len(sent))
	f.all = append(f.all, costs.all...)
	return f, nil
}
