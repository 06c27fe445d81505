package main

import (
	"context"
	"errors"
	"flag"
)

func caps() *comparison {
	s := &deliverySizes{}
	return &comparison{
		name:  "caps",
		about: "what a frequency cap costs: events with some deliveries each, from the outbox row to SENT",
		a:     "Herald, with two caps for the channel, which hold nothing back",
		b:     "Herald, without caps",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Events, "events", 20, "events of a round, written at once; 100 at most")
			flags.IntVar(&s.Recipients, "recipients", 30, "recipients of each, with one delivery each")
		},
		open:  s.openCaps,
		goals: []goal{{figure: "deliveries", least: 0.95}},
	}
}

func (s *deliverySizes) openCaps(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Events < 1 || s.Events > 100 || s.Recipients < 1 {
		return nil, nil, errors.New("there must be an event, 100 at most, and a recipient")
	}
	h, err := stage.herald(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := h.makeRestaurant(ctx, s.Recipients); err != nil {
		return nil, nil, err
	}
	r := &deliveryRounds{deliverySizes: *s, heraldAndBare: heraldAndBare{herald: h, ofA: newMeter(ctx, h.installation, h.worker.pid)}}
	after := func(sql string) round {
		return func(ctx context.Context) (*figures, error) {
			if _, err := h.db.Exec(ctx, sql); err != nil {
				return nil, err
			}
			return r.a(ctx)
		}
	}
	return after(`INSERT INTO frequency_cap (channel_type, category, at_most, per) VALUES ('EMAIL', NULL, 100, '1 second'), ('EMAIL', 'offers', 100, '1 second')`),
		after(`DELETE FROM frequency_cap`), nil
}
