package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/tools/testbed"
)

type consoleSizes struct {
	Deliveries int
	Recipients int
}

func console() *comparison {
	s := &consoleSizes{}
	return &comparison{
		name:  "console",
		about: "how long each page of the console takes over many deliveries, against a thousandth of them; preparing 10 million takes some minutes and 10 GB",
		a:     "many deliveries, a tenth of them of one broadcast",
		b:     "a thousandth of them",
		named: true,
		limit: 2 * time.Hour,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Deliveries, "deliveries", 10_000_000, "deliveries")
			flags.IntVar(&s.Recipients, "recipients", 1_000_000, "recipients, who all get the broadcast")
		},
		open: s.open,
	}
}

func (s *consoleSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Recipients < 10_000 || s.Deliveries < s.Recipients+10_000 {
		return nil, nil, errors.New("the case needs 10,000 recipients, and 10,000 deliveries more than recipients")
	}
	for _, side := range []struct {
		round *round
		sizes consoleSizes
	}{{&a, *s}, {&b, consoleSizes{s.Deliveries / 1000, s.Recipients / 1000}}} {
		in, err := stage.install(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := in.fillConsole(ctx, side.sizes, stage.say); err != nil {
			return nil, nil, err
		}
		address, err := in.startConsole(ctx)
		if err != nil {
			return nil, nil, err
		}
		last := fmt.Sprintf("order-%d", side.sizes.Deliveries/10-1)
		*side.round = func(ctx context.Context) (*figures, error) { return visit(ctx, address, last) }
	}
	return a, b, nil
}

// consoleChunk is the number of deliveries that one statement writes.
const consoleChunk = 100_000

// fillConsole writes a broadcast to all recipients, and events with ten recipients each. A chunk has
// neighbouring recipients, so it writes few pages of each index.
func (in *installation) fillConsole(ctx context.Context, s consoleSizes, say func(string, ...any)) error {
	const rules = `
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('NEWS', 'EMAIL'), ('ORDER', 'SMS');
		INSERT INTO notification_template (title, body) VALUES ('News', 'News');
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at) VALUES ('broadcast', 'NEWS', 'BROADCAST', '0', '{}', 'PROCESSED', now());
		INSERT INTO processed_event (event_id, status) VALUES ('broadcast', 'SUCCESS')`
	const people = `
		INSERT INTO recipient (user_type, user_id, email, phone)
		SELECT 'CUSTOMER', n::text, 'c' || n || '@example.com', '+1202' || lpad((n % 10000000)::text, 7, '0') FROM generate_series(0, $1::int - 1) n`
	const deliveries = `
		WITH new AS MATERIALIZED (
			SELECT n, CASE WHEN n < $3 THEN 'broadcast' ELSE 'order-' || n / 10 END AS event_id, CASE WHEN n < $3 THEN 'NEWS' ELSE 'ORDER' END AS event_type,
			       (n % $3)::text AS user_id, CASE WHEN n < $3 THEN 'EMAIL' ELSE 'SMS' END AS channel,
			       CASE WHEN n % 50 = 0 THEN 'FAILED' WHEN n % 3 = 0 THEN 'SENT' ELSE 'DELIVERED' END AS status, now() - ($4 - n) * interval '1 second' / 20 AS at
			FROM   generate_series($1::bigint, $2::bigint - 1) n
		), event AS (
			INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, created_at, published_at)
			SELECT event_id, event_type, 'ORDER', n::text, '{}', 'PROCESSED', at, at FROM new WHERE n % 10 = 0 AND n >= $3
		), processed AS (
			INSERT INTO processed_event (event_id, status, created_at, updated_at) SELECT event_id, 'SUCCESS', at, at FROM new WHERE n % 10 = 0 AND n >= $3
		), decision AS (
			INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
			SELECT event_id, 'CUSTOMER', user_id, at, jsonb_build_object(channel, 'SELECTED') FROM new
		)
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count, last_error, created_at, sent_at, delivered_at, failed_child)
		SELECT event_id, event_type, 'CUSTOMER', user_id, channel, event_id || '-customer' || user_id || '-' || channel, 'News', 'The text of a message, of about the usual length.',
		       status, 1, CASE status WHEN 'FAILED' THEN 'the provider refused: 400' END, at, CASE WHEN status <> 'FAILED' THEN at END, CASE status WHEN 'DELIVERED' THEN at END, false
		FROM   new`

	if _, err := in.db.Exec(ctx, rules); err != nil {
		return err
	}
	if _, err := in.db.Exec(ctx, people, s.Recipients); err != nil {
		return err
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for from := 0; from < s.Deliveries; from += consoleChunk {
		group.Go(func() error {
			_, err := in.db.Exec(writing, deliveries, from, min(from+consoleChunk, s.Deliveries), s.Recipients, s.Deliveries)
			if err == nil && from%1_000_000 == 0 {
				say("wrote deliveries from %d of %d", from, s.Deliveries)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if _, err := in.db.Exec(ctx, "VACUUM ANALYZE"); err != nil { // as autovacuum would in time
		return err
	}
	_, err := in.db.Exec(ctx, `INSERT INTO delivery_count (since, channel, status, count)
		SELECT date_bin('10 minutes', created_at, 'epoch'), channel, status, count(*) FROM notification WHERE created_at > now() - interval '8 days' GROUP BY 1, 2, 3`)
	return err
}

var consoleAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// startConsole starts the console and returns its address.
func (in *installation) startConsole(ctx context.Context) (address string, err error) {
	p, err := testbed.Start(in.env, in.program("starter"), "console", "--addr", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	in.AtEnd(func(context.Context) error { return p.Stop() })
	err = in.until(ctx, time.Minute, "the console does not start", func() (bool, error) {
		address = consoleAddress.FindString(p.Output())
		return address != "", p.Alive()
	})
	return address, err
}

// visit reads each page a few times. event is one with ten recipients.
func visit(ctx context.Context, address, event string) (*figures, error) {
	const times = 5
	f := &figures{}
	for _, p := range []struct{ name, path string }{
		{"overview", "/?span=week"}, {"events", "/events"}, {"events of a type", "/events?type=NEWS"}, {"events of no type", "/events?type=NONE"}, {"events of an aggregate", "/events?aggregate=ORDER/1"}, {"small event", "/event?id=" + event}, {"broadcast", "/event?id=broadcast"},
		{"deliveries", "/deliveries"}, {"failed deliveries", "/deliveries?status=FAILED"}, {"deliveries of no webhook", "/deliveries?channel=WEBHOOK"}, {"deliveries of the broadcast", "/deliveries?event=broadcast"},
		{"failed of the broadcast", "/deliveries?event=broadcast&status=FAILED"}, {"cancelled of the broadcast", "/deliveries?event=broadcast&status=CANCELLED"}, {"delivery", "/delivery?id=broadcast-customer7-EMAIL"}, {"why", "/why?event=broadcast&recipient=CUSTOMER%2F7&channel=EMAIL"},
		{"recipient", "/recipient?type=CUSTOMER&id=7"}, {"templates", "/templates"}, {"audit", "/audit"}, {"search", "POST /search?q=CUSTOMER/7"}, {"search by address", "POST /search?q=c7@example.com"},
	} {
		var took []float64
		for range times {
			began := time.Now()
			if err := read(ctx, address, p.path); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		f.addSamples(p.name, "ms", took)
	}
	return f, nil
}

// read reads a page. "POST /path?form" sends a form.
func read(ctx context.Context, address, path string) error {
	method, form := http.MethodGet, ""
	if post, found := strings.CutPrefix(path, "POST "); found {
		method = http.MethodPost
		path, form, _ = strings.Cut(post, "?")
		name, value, _ := strings.Cut(form, "=")
		form = url.Values{name: {value}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(form))
	if err != nil {
		return err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s", answer.Status)
	}
	return nil
}
