package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"herald/tools/testbed"
)

type outageSizes struct {
	Fault string
	Texts int
	small latencySizes
}

func outage() *comparison {
	s := &outageSizes{}
	return &comparison{
		name:  "outage",
		about: "how long after its commit an e-mail is with its provider while the provider of text messages is down, against a time in which it works",
		a:     "Herald, while Twilio hangs and texts are written all the time",
		b:     "Herald, with the same texts, which Twilio takes at once",
		named: true,
		limit: 20 * time.Minute,
		flags: func(flags *flag.FlagSet) {
			flags.StringVar(&s.Fault, "fault", `{"latency":"1m"}`, "of Twilio, as for the sandbox: it hangs, refuses ({\"status\":503}) or is slow")
			flags.IntVar(&s.Texts, "texts", 5, "texts a second")
			flags.IntVar(&s.small.Rate, "rate", 2, "events with e-mails a second")
			flags.IntVar(&s.small.Recipients, "recipients", 3, "recipients of each of these, with one delivery each")
			flags.IntVar(&s.small.Seconds, "seconds", 30, "how long a round writes events")
		},
		open:  s.open,
		goals: []goal{{figure: "to the provider p99", most: 1.2}},
	}
}

// outageRounds runs the rounds of both sides.
type outageRounds struct {
	outageSizes
	herald *herald
	small  *latencyRounds
}

func (s *outageSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Texts < 1 || s.small.Rate < 1 || s.small.Recipients < 1 || s.small.Seconds < 1 {
		return nil, nil, errors.New("there must be a text, an event and a second, and a recipient")
	}
	r := &outageRounds{outageSizes: *s}
	if r.herald, err = stage.herald(ctx, "SMS_MAX_ATTEMPTS=100"); err != nil {
		return nil, nil, err
	}
	if err := r.herald.makeRestaurant(ctx, s.small.Recipients); err != nil {
		return nil, nil, err
	}
	_, err = r.herald.db.Exec(ctx, `
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('TEXT', 'SMS');
		UPDATE recipient SET phone = '+120255501' || lpad(user_id, 2, '0') WHERE user_id = '1'`)
	r.small = &latencyRounds{latencySizes: s.small, heraldAndBare: heraldAndBare{herald: r.herald, ofA: newMeter(ctx, r.herald.installation, pid(r.herald.worker.PID))}}
	return r.down, r.up, err
}

func (r *outageRounds) up(ctx context.Context) (*figures, error) {
	if err := r.herald.settle(ctx); err != nil {
		return nil, err
	}
	texts := r.writeTexts(ctx)
	f, err := r.small.a(ctx)
	if sent := <-texts; err == nil {
		err = r.awaitTexts(ctx, sent)
	}
	if err != nil {
		return nil, err
	}
	return &figures{f.all[:1]}, nil // the texts cause much of the other costs
}

// down is up while Twilio is down. At the end, all texts are sent.
func (r *outageRounds) down(ctx context.Context) (*figures, error) {
	if err := testbed.Fault(ctx, r.herald.sandbox, "sms", r.Fault); err != nil {
		return nil, err
	}
	stop := time.AfterFunc(time.Duration(r.small.Seconds)*time.Second, func() {
		_ = testbed.Fault(ctx, r.herald.sandbox, "sms", "") // else the round does not end, and says so
		_, _ = r.herald.db.Exec(ctx, "UPDATE provider_state SET rests = 0, rests_until = NULL")
	})
	defer stop.Stop()
	return r.up(ctx)
}

// writeTexts writes texts for the time of a round, and then sends their number.
func (r *outageRounds) writeTexts(ctx context.Context) <-chan int {
	written, round, count := make(chan int, 1), r.small.rounds+1, r.Texts*r.small.Seconds
	go func() {
		first := time.Now()
		for i := range count {
			time.Sleep(time.Until(first.Add(time.Duration(i) * time.Second / time.Duration(r.Texts))))
			if _, err := r.herald.write(ctx, []string{fmt.Sprintf("%s-text-%d-%d", r.herald.name, round, i)}, "TEXT"); err != nil {
				break // the round does not find the text, and says so
			}
		}
		written <- count
	}()
	return written
}

func (r *outageRounds) awaitTexts(ctx context.Context, count int) error {
	return r.herald.awaitCount(ctx, count, "SELECT count(*) FROM notification WHERE event_id LIKE $1 AND channel = 'SMS' AND status = 'SENT'", fmt.Sprintf("%s-text-%d-%%", r.herald.name, r.small.rounds))
}
