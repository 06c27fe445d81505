package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/outbox"
)

// profile is a pattern of load over time.
type profile struct {
	name, about string
	at          func(second int, rate float64) float64 // transactions of a second of the run
	broadcasts  time.Duration                          // time between two broadcasts
}

var profiles = []profile{
	{"steady", "the same rate all the time, a broadcast every two minutes", func(_ int, rate float64) float64 { return rate }, 2 * time.Minute},
	{"burst", "nothing for nine seconds, then ten seconds' worth at once; a broadcast every two minutes", func(second int, rate float64) float64 {
		if second%10 == 9 {
			return 10 * rate
		}
		return 0
	}, 2 * time.Minute},
	{"broadcast", "half the rate, and a broadcast every 30 seconds", func(_ int, rate float64) float64 { return rate / 2 }, 30 * time.Second},
}

// The drill's directory. Each restaurant has staffOf people.
const (
	customers   = 40
	restaurants = 5
	staffOf     = 3
	crowd       = "900" // the restaurant whose staff a broadcast reaches
)

// setUp creates the business table, the directory, the routing and the template.
func setUp(ctx context.Context, db *pgxpool.Pool, hooks string, people int) error {
	_, err := db.Exec(ctx, fmt.Sprintf(`
		CREATE SCHEMA drill;
		CREATE TABLE drill.orders (event_id text PRIMARY KEY);
		INSERT INTO recipient (user_type, user_id, name, email, phone, webhook_url)
		SELECT 'CUSTOMER', n::text, 'c' || n, 'c' || n || '@example.com', '+120255501' || lpad(n::text, 2, '0'), '%[1]s/hooks/c' || n FROM generate_series(1, %[2]d) n;
		INSERT INTO recipient_device (user_type, user_id, token) SELECT 'CUSTOMER', n::text, 'device-c' || n FROM generate_series(1, %[2]d) n;
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT 'RESTAURANT_USER', n::text, 's' || n, 's' || n || '@example.com' FROM generate_series(1, %[3]d * %[4]d + %[5]d) n;
		INSERT INTO recipient_device (user_type, user_id, token) SELECT 'RESTAURANT_USER', n::text, 'device-s' || n FROM generate_series(1, %[3]d * %[4]d) n;
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', CASE WHEN n <= %[3]d * %[4]d THEN ((n - 1) / %[4]d + 1)::text ELSE '%[6]s' END, 'RESTAURANT_USER', n::text, 'WAITER'
		FROM   generate_series(1, %[3]d * %[4]d + %[5]d) n;
		INSERT INTO event_type_channel_routing (event_type, channel_type)
		VALUES ('ORDER', 'EMAIL'), ('ORDER', 'SMS'), ('ORDER', 'PUSH'), ('ORDER', 'WEBHOOK'), ('TABLE', 'EMAIL'), ('TABLE', 'PUSH'), ('NEWS', 'EMAIL');
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
		VALUES ('VISIT', 'EMAIL', 'DELAYED', 'at'), ('VISIT', 'SMS', 'DELAYED', 'at');
		INSERT INTO notification_template (title, body) VALUES ('Drill', 'For {{.recipient.name}}; event {{.payload.event}};')`,
		hooks, customers, restaurants, staffOf, people, crowd))
	return err
}

// load writes business transactions, and records them.
type load struct {
	db      *pgxpool.Pool
	prefix  string // of the ids of events
	random  *rand.Rand
	profile profile
	rate    float64
	people  int           // that a broadcast reaches
	grace   time.Duration // as in [event]

	events  []*event
	cancels []cancel // that are due later
}

// cancel is an event to cancel at a certain time.
type cancel struct {
	at    time.Time
	due   time.Time // when its messages begin; zero: at once
	event *event
}

// writeTimeout limits one business transaction. After a time-out, it is unknown until the end of the run
// whether the transaction was committed.
const writeTimeout = 10 * time.Second

// run writes until ctx ends, and then writes the remaining cancellations.
func (l *load) run(ctx context.Context) {
	began, owed, news := time.Now(), 0.0, l.profile.broadcasts/4
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for second := 0; ; second++ {
		for owed += l.profile.at(second, l.rate); owed >= 1 && ctx.Err() == nil; owed-- {
			l.write(ctx, l.random.IntN(100))
		}
		if time.Since(began) > news {
			news += l.profile.broadcasts
			l.commit(ctx, l.broadcast(), nil)
		}
		l.takeBack(ctx, time.Now())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			l.takeBack(context.WithoutCancel(ctx), time.Now().Add(time.Hour))
			return
		}
	}
}

// write writes one business transaction: its kind depends on n, from 0 to 99.
func (l *load) write(ctx context.Context, n int) {
	switch {
	case n < 45:
		l.commit(ctx, l.order(), nil)
	case n < 65:
		l.commit(ctx, l.table(), nil)
	case n < 75: // a visit that takes place
		l.commit(ctx, l.visit(time.Now().Add(visitIn)), nil)
	case n < 85: // a visit that is cancelled before its reminder is due
		due := time.Now().Add(visitIn)
		visit := l.visit(due)
		l.commit(ctx, visit, nil)
		l.cancels = append(l.cancels, cancel{time.Now().Add(time.Duration(1+l.random.IntN(4)) * time.Second), due, visit.event})
	case n < 90: // an order that is cancelled in the transaction that writes it
		l.commit(ctx, l.order(), l.off)
	case n < 95: // an order that is cancelled while it is being sent
		order := l.order()
		l.commit(ctx, order, nil)
		l.cancels = append(l.cancels, cancel{time.Now(), time.Time{}, order.event})
	default:
		l.rollBack(ctx, l.order())
	}
}

// draft is an event before it is written.
type draft struct {
	event *event
	row   outbox.Event
}

func (l *load) draft(eventType, aggregateType, aggregateID string) draft {
	e := &event{ID: fmt.Sprintf("%s%d", l.prefix, len(l.events)+1)}
	l.events = append(l.events, e)
	return draft{e, outbox.Event{ID: e.ID, Type: eventType, AggregateType: aggregateType, AggregateID: aggregateID, Payload: map[string]string{"event": e.ID}}}
}

// asks adds a person's message over a channel to the messages that the event asks for.
func (d draft) asks(who, user, channel, address string) {
	name := map[string]string{"customer": "c", "staff": "s"}[who] + user
	d.event.Messages = append(d.event.Messages, wanted{
		Delivery: fmt.Sprintf("%s-%s%s-%s", d.event.ID, who, user, channel),
		Address:  strings.ReplaceAll(address, "NAME", name),
		Text:     fmt.Sprintf("For %s; event %s;", name, d.event.ID),
	})
}

func (l *load) order() draft {
	n := 1 + l.random.IntN(customers)
	d := l.draft("ORDER", "CUSTOMER", fmt.Sprint(n))
	d.asks("customer", fmt.Sprint(n), "EMAIL", "NAME@example.com")
	d.asks("customer", fmt.Sprint(n), "SMS", fmt.Sprintf("+120255501%02d", n))
	d.asks("customer", fmt.Sprint(n), "PUSH", "device-NAME")
	d.asks("customer", fmt.Sprint(n), "WEBHOOK", "/hooks/NAME")
	return d
}

func (l *load) table() draft {
	restaurant := l.random.IntN(restaurants)
	d := l.draft("TABLE", "RESTAURANT", fmt.Sprint(restaurant+1))
	for n := range staffOf {
		d.asks("staff", fmt.Sprint(restaurant*staffOf+n+1), "EMAIL", "NAME@example.com")
		d.asks("staff", fmt.Sprint(restaurant*staffOf+n+1), "PUSH", "device-NAME")
	}
	return d
}

// visitIn is the time until a reminder is due. It is longer than the time until the cancellation.
const visitIn = 15 * time.Second

func (l *load) visit(due time.Time) draft {
	n := 1 + l.random.IntN(customers)
	d := l.draft("VISIT", "CUSTOMER", fmt.Sprint(n))
	d.row.Payload = map[string]string{"event": d.event.ID, "at": due.UTC().Format(time.RFC3339Nano)}
	d.asks("customer", fmt.Sprint(n), "EMAIL", "NAME@example.com")
	d.asks("customer", fmt.Sprint(n), "SMS", fmt.Sprintf("+120255501%02d", n))
	return d
}

func (l *load) broadcast() draft {
	d := l.draft("NEWS", "RESTAURANT", crowd)
	for n := range l.people {
		d.asks("staff", fmt.Sprint(restaurants*staffOf+n+1), "EMAIL", "NAME@example.com")
	}
	return d
}

// off returns an event that cancels another event.
func (l *load) off(target *event) draft {
	d := l.draft("CALLED_OFF", "CUSTOMER", "1")
	d.row.Cancels, target.CancelledBy = target.ID, d.event.ID
	return d
}

// takeBack writes the cancellations that are due.
func (l *load) takeBack(ctx context.Context, now time.Time) {
	due := func(c cancel) bool { return c.at.Before(now) }
	for _, c := range l.cancels {
		if !due(c) {
			continue
		}
		if l.commit(ctx, l.off(c.event), nil) != nil {
			continue
		}
		if c.event.CancelledAt = time.Now(); c.due.Before(c.event.CancelledAt) {
			c.event.Grace = l.grace
		}
	}
	l.cancels = slices.DeleteFunc(l.cancels, due)
}

// commit writes an event with a business row. Unless off is nil, the same transaction has an event that
// cancels it. After an error, the transaction may still be committed: [load.settle] finds out.
func (l *load) commit(ctx context.Context, d draft, off func(*event) draft) error {
	rows := []outbox.Event{d.row}
	if off != nil {
		rows = append(rows, off(d.event).row)
	}
	err := l.transaction(ctx, rows, true)
	if off != nil && err == nil {
		d.event.CancelledAt = time.Now()
	}
	return err
}

func (l *load) rollBack(ctx context.Context, d draft) {
	_ = l.transaction(ctx, []outbox.Event{d.row}, false) // a failure is a rollback too
}

func (l *load) transaction(ctx context.Context, rows []outbox.Event, commit bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	tx, err := l.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	for _, row := range rows {
		if _, err := tx.Exec(ctx, "INSERT INTO drill.orders (event_id) VALUES ($1)", row.ID); err != nil {
			return err
		}
	}
	if err := outbox.Insert(ctx, tx, rows...); err != nil || !commit {
		return err
	}
	return tx.Commit(ctx)
}

// settle finds out which transactions were committed, by their business rows. An event is not cancelled if
// its cancelling event was not committed.
func (l *load) settle(committed map[string]bool) []event {
	events := make([]event, len(l.events))
	for i, e := range l.events {
		e.Committed = committed[e.ID]
		if !committed[e.CancelledBy] {
			e.CancelledBy, e.CancelledAt = "", time.Time{}
		}
		events[i] = *e
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.ID, b.ID) })
	return events
}
