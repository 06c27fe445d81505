package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"herald/outbox"
	"herald/tools/rig"
)

// deliveryRounds runs the rounds of the case deliveries.
type deliveryRounds struct {
	*installation

	Events     int
	Recipients int

	meter  *meter
	rounds int
}

func deliveries() *comparison {
	s := &deliveryRounds{}
	return &comparison{
		name:  "deliveries",
		about: "events with some deliveries each, from before the commit of the rows to the last SENT",
		a:     "Herald; the sandbox answers at once",
		flags: s.flags,
		open:  s.open,
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
	return r.round, nil, err
}

// on returns the rounds of a started installation.
func (s *deliveryRounds) on(ctx context.Context, in *installation) (*deliveryRounds, error) {
	r := *s
	r.installation, r.meter = in, newMeter(ctx, in.DB, in.worker.PID())
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
	r.meter.begin()
	began, err := r.write(ctx, "BENCH", ids...)
	if err != nil {
		return nil, err
	}
	if err := r.awaitEvents(ctx, ids); err != nil {
		return nil, err
	}
	closed, err := r.awaitClosed(ctx, fmt.Sprintf("%s-%d", r.Name, r.rounds), r.Events*(1+r.Recipients))
	if err != nil {
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
	f, costs := &figures{}, &figures{}
	r.meter.end(costs, "delivery", len(sent))
	ofEvents := closed.with(ids)
	f.add("deliveries", "per second", float64(len(sent))/last.Sub(began).Seconds())
	f.add("deliveries until all workflows have closed", "per second", float64(len(sent))/ofEvents.end().Sub(began).Seconds())
	ofEvents.add(f, "event", len(ids))
	closed.with(sent).add(f, "delivery", len(sent))
	f.all = append(f.all, costs.all...)
	return f, nil
}
