package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"
)

// millionSizes are the flags of the case million.
type millionSizes struct {
	Million int `json:"recipients"`
	Beside  int `json:"recipients_beside"`
}

func million() *comparison {
	s := &millionSizes{}
	return &comparison{
		name:  "million",
		about: "a million mails from one row, planning included, beside a tenth of it: minutes of both",
		a:     "Herald, a million recipients: from before the commit of the row to the last SENT, in one worker, which plans and sends",
		b:     "Herald, the same with 100,000",
		named: true,
		pairs: 1,
		limit: 6 * time.Hour,
		sizes: s,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Million, "recipients", 1_000_000, "of the event of A")
			flags.IntVar(&s.Beside, "recipients-beside", 100_000, "of the event of B")
		},
		open:  s.open,
		goals: []goal{{figure: "deliveries", least: 0.9}, {figure: "peak memory of the worker", more: 100}},
	}
}

// many are the recipients of A; those of B get [news].
var many = crowd{"NEWS_FOR_MANY", "AGENCY_USER", "agent"}

// millionRounds are both sides.
type millionRounds struct {
	millionSizes
	herald *herald
	rounds int
}

func (s *millionSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Million < 1 || s.Beside < 1 {
		return nil, nil, errors.New("there must be a recipient")
	}
	r := &millionRounds{millionSizes: *s}
	if r.herald, err = stage.herald(ctx); err != nil {
		return nil, nil, err
	}
	for c, people := range map[crowd]int{many: s.Million, news: s.Beside} {
		if err := r.herald.makeCrowd(ctx, c, people); err != nil {
			return nil, nil, err
		}
	}
	tell := func(c crowd, people int) round {
		return func(ctx context.Context) (*figures, error) { return r.tell(ctx, c, people) }
	}
	return tell(many, s.Million), tell(news, s.Beside), nil
}

// tell tells all of a crowd.
func (r *millionRounds) tell(ctx context.Context, c crowd, people int) (*figures, error) {
	r.rounds++
	h, id := r.herald, fmt.Sprintf("%s-%d", r.herald.name, r.rounds)
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	m := newMeter(ctx, h.installation, h.worker.pid)
	m.begin(ctx)
	began, err := h.announce(ctx, id, c)
	if err != nil {
		return nil, err
	}
	first, last, err := h.awaitSent(ctx, id, people)
	if err != nil {
		return nil, err
	}
	f := &figures{}
	f.add("deliveries", "per second", float64(people)/last.Sub(began).Seconds())
	f.add("until the first attempt", "ms", float64(first.Sub(began).Milliseconds()))
	m.end(ctx, f, "delivery", people)
	return f, nil
}
