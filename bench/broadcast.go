package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"herald/internal/notification"
)

// broadcastSizes are the flags of the case broadcast.
type broadcastSizes struct {
	Recipients int `json:"recipients"`
}

func broadcast() *comparison {
	s := &broadcastSizes{}
	return &comparison{
		name:  "broadcast",
		about: "one event with a mail to each of very many people, beside a bare loop that sends the same mails without Temporal",
		a:     "Herald: plans all of them, while no worker serves e-mail; then one does, and is timed from its first attempt to the last SENT",
		b:     "a bare loop over the same rows: reads 500, sends them with the same sender, as many at once as Herald's worker, and updates them in one statement",
		large: 4,
		limit: 20 * time.Minute,
		sizes: s,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Recipients, "recipients", 100_000, "of the event, with one delivery each")
		},
		open: s.open,
		goals: []goal{
			{figure: "deliveries", least: 0.6},
			{figure: "deliveries, planning included", beside: "deliveries", other: "deliveries", least: 20},
		},
	}
}

// bulkThreshold is the default of BULK_THRESHOLD.
const bulkThreshold = 1000

// broadcastRounds are both sides. The worker of the installation serves events alone.
type broadcastRounds struct {
	broadcastSizes
	herald *herald
	loop   *mailLoop
	rounds int
}

func (s *broadcastSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Recipients < 1 {
		return nil, nil, errors.New("there must be a recipient")
	}
	r := &broadcastRounds{broadcastSizes: *s}
	if r.herald, err = stage.heraldServing(ctx, []string{"--events"}); err != nil {
		return nil, nil, err
	}
	if err := r.herald.makeCrowd(ctx, news, s.Recipients); err != nil {
		return nil, nil, err
	}
	r.loop, err = newMailLoop(r.herald)
	return r.a, r.b, err
}

func (r *broadcastRounds) a(ctx context.Context) (*figures, error) {
	r.rounds++
	h, id := r.herald, fmt.Sprintf("%s-news-%d", r.herald.name, r.rounds)
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	planning := newMeter(ctx, h.installation, h.worker.pid)
	planning.begin(ctx)
	began, err := h.announce(ctx, id, news)
	if err != nil {
		return nil, err
	}
	planned, err := h.awaitPlanned(ctx, id, news, r.Recipients)
	if err != nil {
		return nil, err
	}
	costs := &figures{}
	planning.costs(ctx, costs, "planned delivery", r.Recipients)
	mails, err := startProcess(h.env, h.program("worker"), "--channels", "email")
	if err != nil {
		return nil, err
	}
	defer func() { _ = mails.stop() }()
	sending := newMeter(ctx, h.installation, mails.pid, h.worker.pid)
	sending.begin(ctx)
	first, last, err := h.awaitSent(ctx, id, r.Recipients, mails)
	if err != nil {
		return nil, err
	}
	n, f := float64(r.Recipients), &figures{}
	f.add("deliveries", "per second", n/last.Sub(first).Seconds())
	f.add("deliveries, planning included", "per second", n/(planned.Sub(began)+last.Sub(first)).Seconds())
	f.add("planned deliveries", "per second", n/planned.Sub(began).Seconds())
	sending.end(ctx, f, "delivery", r.Recipients)
	f.all = append(f.all, costs.all...)
	if r.Recipients <= bulkThreshold {
		return f, nil // it has no batches
	}
	counts, err := describeBroadcast(ctx, h.temporal, id, notification.Email, r.Recipients)
	counts.add(f, "delivery")
	return f, err
}

func (r *broadcastRounds) b(ctx context.Context) (*figures, error) {
	id := fmt.Sprintf("%s-loop-%d", r.herald.name, r.rounds)
	if err := r.loop.write(ctx, id, fmt.Sprintf("%s-news-%d", r.herald.name, r.rounds)); err != nil {
		return nil, err
	}
	if err := r.herald.settle(ctx); err != nil {
		return nil, err
	}
	m := newMeter(ctx, r.herald.installation, self())
	m.begin(ctx)
	began := time.Now()
	sent, err := r.loop.run(ctx, id)
	if err == nil && sent != r.Recipients {
		err = fmt.Errorf("%d mails were sent, of %d", sent, r.Recipients)
	}
	if err != nil {
		return nil, err
	}
	f := &figures{}
	f.add("deliveries", "per second", float64(sent)/time.Since(began).Seconds())
	m.end(ctx, f, "delivery", sent)
	return f, nil
}
