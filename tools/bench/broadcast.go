package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"herald/outbox"
	"herald/tools/rig"
)

// broadcastRounds runs the rounds of the case broadcast. The installation's worker serves only
// events.
type broadcastRounds struct {
	*installation

	Recipients int

	loop           *mailLoop
	rounds, looped int // rounds of each side so far
}

func broadcast() *comparison {
	s := &broadcastRounds{}
	return &comparison{
		name:  "broadcast",
		about: "one event with a mail to each of very many people, next to a loop that sends the same mails without Temporal",
		a:     "Herald: plans all of them, while no worker serves e-mail; then one does, and is timed from its first attempt to the last SENT",
		b:     "a bare loop over planned rows: reads 500, sends them with the same sender, as many at once as Herald, and marks them",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Recipients, "recipients", 100_000, "of the event, with one delivery each")
		},
		open:  s.open,
		goals: []goal{{figure: "deliveries, planning included", least: 0.8}},
	}
}

// bulkThreshold is the default of BULK_THRESHOLD.
const bulkThreshold = 1000

func (s *broadcastRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	r := *s
	if r.installation, err = stage.herald(ctx, []string{"--events"}); err != nil {
		return nil, nil, err
	}
	if err := r.makeCrowd(ctx, s.Recipients); err != nil {
		return nil, nil, err
	}
	r.loop, err = newMailLoop(r.installation)
	return r.round, r.loopRound, err
}

func (r *broadcastRounds) round(ctx context.Context) (*figures, error) {
	r.rounds++
	id := fmt.Sprintf("%s-news-%d", r.Name, r.rounds)
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	planning := newMeter(ctx, r.DB, r.worker.PID())
	planning.begin()
	began, err := r.announce(ctx, id)
	if err != nil {
		return nil, err
	}
	planned, err := r.awaitPlanned(ctx, id, r.Recipients)
	if err != nil {
		return nil, err
	}
	costs := &figures{}
	planning.costs(costs, "planned delivery", r.Recipients)
	mails, err := r.Start("worker", "--channels", "email")
	if err != nil {
		return nil, err
	}
	defer func() { _ = mails.Stop() }()
	sending := newMeter(ctx, r.DB, mails.PID(), r.worker.PID())
	sending.begin()
	first, last, err := r.awaitSent(ctx, id, r.Recipients)
	if err != nil {
		return nil, err
	}
	n, f := float64(r.Recipients), &figures{}
	f.add("deliveries", "per second", n/last.Sub(first).Seconds())
	f.add("deliveries, planning included", "per second", n/(planned.Sub(began)+last.Sub(first)).Seconds())
	f.add("planned deliveries", "per second", n/planned.Sub(began).Seconds())
	sending.end(f, "delivery", r.Recipients)
	f.all = append(f.all, costs.all...)
	if r.Recipients <= bulkThreshold {
		return f, nil // an event of this size has no batches
	}
	closed, err := r.awaitClosed(ctx, id, 1)
	closed.add(f, "delivery", r.Recipients)
	return f, err
}

// loopRound includes no planning: the loop finds its rows written.
func (r *broadcastRounds) loopRound(ctx context.Context) (*figures, error) {
	r.looped++
	id := fmt.Sprintf("%s-loop-%d", r.Name, r.looped)
	if err := r.loop.write(ctx, id, r.Recipients); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	m := newMeter(ctx, r.DB, os.Getpid())
	m.begin()
	began := time.Now()
	sent, err := r.loop.run(ctx, id)
	if err == nil && sent != r.Recipients {
		err = fmt.Errorf("%d mails were sent, of %d", sent, r.Recipients)
	}
	if err != nil {
		return nil, err
	}
	f := &figures{}
	rate := float64(sent) / time.Since(began).Seconds()
	f.add("deliveries", "per second", rate)
	f.add("deliveries, planning included", "per second", rate)
	m.end(f, "delivery", sent)
	return f, nil
}

// makeCrowd inserts customers. An event of type NEWS sends an e-mail to each. The e-mails are
// mandatory, so Herald makes no unsubscribe links, which would differ for each e-mail.
func (in *installation) makeCrowd(ctx context.Context, people int) error {
	_, err := in.DB.Exec(ctx, fmt.Sprintf(`
		INSERT INTO recipient (user_type, user_id, name, email, locale, timezone)
		SELECT 'CUSTOMER', n::text, 'Ada ' || n, 'customer' || n || '@example.com', 'en', 'Europe/Rome' FROM generate_series(1, %d) n;
		INSERT INTO event_type_recipients (event_type, user_type, entity_type) VALUES ('NEWS', 'CUSTOMER', 'BROADCAST');
		INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory) VALUES ('NEWS', 'EMAIL', true);
		INSERT INTO notification_template (event_type, channel, title, body)
		VALUES ('NEWS', 'EMAIL', 'Offers of {{.payload.month}}',
		       '<h1>{{.payload.month}}</h1><p>Dear {{.recipient.name}}, all of {{.payload.month}}'
		       ' there are <b>offers</b> for you at https://example.com/offers. We look forward to seeing you.</p>')`,
		people))
	return err
}

// settle vacuums the tables, so that autovacuum does not do it during a round.
func (in *installation) settle(ctx context.Context) error {
	_, err := in.DB.Exec(ctx, "VACUUM (ANALYZE) recipient, notification, notification_decision, delivery_attempt")
	return err
}

// announce commits an event of type NEWS, and returns the time before the commit.
func (in *installation) announce(ctx context.Context, id string) (time.Time, error) {
	load := rig.Load{DB: in.DB}
	return load.Commit(ctx, load.Add(outbox.Event{
		ID: id, Type: "NEWS", AggregateType: "BROADCAST", AggregateID: "0", Payload: map[string]string{"month": "July"},
	}))
}

// awaitPlanned waits until the last recipient's delivery is planned, and returns its time.
// Herald plans recipients in the order of their numbers.
func (in *installation) awaitPlanned(ctx context.Context, id string, people int) (planned time.Time, err error) {
	last := fmt.Sprintf("%s-customer%d-EMAIL", id, people)
	if err := in.awaitCount(ctx, 1, "SELECT count(*) FROM notification WHERE delivery_id = $1", last); err != nil {
		return planned, err
	}
	err = in.DB.QueryRow(ctx, "SELECT created_at FROM notification WHERE delivery_id = $1", last).Scan(&planned)
	return planned, err
}

// hasEnded counts an event if it has ended.
const hasEnded = "SELECT count(*) FROM processed_event WHERE event_id = $1 AND status <> 'PROCESSING'"

// awaitSent waits until an event has ended and all its deliveries are SENT. It returns the times
// of the first attempt and of the last SENT.
func (in *installation) awaitSent(ctx context.Context, id string, people int) (first, last time.Time, err error) {
	err = in.until(ctx, broadcastTime, "a broadcast does not end", func() (bool, error) {
		ended, err := in.Count(ctx, hasEnded, id)
		return ended > 0, err
	})
	if err != nil {
		return first, last, err
	}
	var sent int
	err = in.DB.QueryRow(ctx, `
		SELECT count(*), min(a.started_at), max(n.sent_at)
		FROM   notification n
		JOIN   delivery_attempt a USING (delivery_id)
		WHERE  n.event_id = $1
		AND    n.status = 'SENT'`, id).Scan(&sent, &first, &last)
	if err == nil && sent != people {
		err = errors.Join(fmt.Errorf("%d deliveries are SENT, of %d", sent, people), in.said())
	}
	return first, last, err
}

// broadcastTime limits one broadcast.
const broadcastTime = time.Hour
