package main

import (
	"context"
	"flag"
	"fmt"
	"time"
)

// outageRounds runs the rounds of the case outage.
type outageRounds struct {
	latency

	Fault string
	Texts int // a second
}

func outage() *comparison {
	s := &outageRounds{latency: latency{Seconds: 30}}
	return &comparison{
		name: "outage",
		about: "how long after its commit an e-mail is with its provider while the provider of text messages is down, " +
			"against a time in which it works",
		a:     "Herald, while Twilio hangs and texts are written all the time",
		b:     "Herald, with the same texts, which Twilio takes at once",
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.StringVar(&s.Fault, "fault", `{"latency":"1m"}`, "of Twilio, as for the sandbox: it hangs, refuses ({\"status\":503}) or is slow")
			flags.IntVar(&s.Texts, "texts", 5, "texts a second")
			s.latency.flags(flags)
		},
		open:  s.open,
		goals: []goal{{figure: "to the provider p99", most: 1.2}},
	}
}

func (s *outageRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	r := *s
	if err := r.latency.open(ctx, stage, "SMS_MAX_ATTEMPTS=100"); err != nil {
		return nil, nil, err
	}
	_, err = r.DB.Exec(ctx, `
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('TEXT', 'SMS');
		UPDATE recipient SET phone = '+120255501' || lpad(user_id, 2, '0') WHERE user_id = '1'`)
	return r.down, r.up, err
}

func (r *outageRounds) up(ctx context.Context) (*figures, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	texts := r.writeTexts(ctx)
	f, err := r.measure(ctx)
	if sent := <-texts; err == nil {
		const texts = "SELECT count(*) FROM notification WHERE event_id LIKE $1 AND channel = 'SMS' AND status = 'SENT'"
		err = r.awaitCount(ctx, sent, texts, fmt.Sprintf("%s-text-%d-%%", r.Name, r.rounds))
	}
	return f, err
}

// down is up while Twilio is down. At the end, all texts are sent.
func (r *outageRounds) down(ctx context.Context) (*figures, error) {
	if err := r.Sandbox.SetFault(ctx, "sms", r.Fault); err != nil {
		return nil, err
	}
	stop := time.AfterFunc(time.Duration(r.Seconds)*time.Second, func() {
		_ = r.Sandbox.SetFault(ctx, "sms", "") // if this fails, the round times out with an error
		_, _ = r.DB.Exec(ctx, "UPDATE provider_state SET rests = 0, rests_until = NULL")
	})
	defer stop.Stop()
	return r.up(ctx)
}

// writeTexts writes texts for the time of a round, and then sends their number.
func (r *outageRounds) writeTexts(ctx context.Context) <-chan int {
	written, round, count := make(chan int, 1), r.rounds+1, r.Texts*r.Seconds
	go func() {
		_ = pace(count, r.Texts, func(i int) error { // if this fails, the round reports the missing text
			_, err := r.write(ctx, "TEXT", fmt.Sprintf("%s-text-%d-%d", r.Name, round, i))
			return err
		})
		written <- count
	}()
	return written
}
