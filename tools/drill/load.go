package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/outbox"
	"herald/tools/rig"
)

// profile is a pattern of load over time.
type profile struct {
	name, about string
	at          func(second int, rate float64) float64 // transactions of a second of the run
	broadcasts  time.Duration                          // time between two broadcasts
}

var profiles = []profile{
	{"steady", "the same rate all the time, a broadcast every two minutes", steadily(1), 2 * time.Minute},
	{"burst", "nothing for nine seconds, then ten seconds' worth at once; a broadcast every two minutes", atOnce, 2 * time.Minute},
	{"broadcast", "half the rate, and a broadcast every 30 seconds", steadily(0.5), 30 * time.Second},
}

func steadily(share float64) func(int, float64) float64 {
	return func(_ int, rate float64) float64 { return share * rate }
}

func atOnce(second int, rate float64) float64 {
	if second%10 == 9 {
		return 10 * rate
	}
	return 0
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
		SELECT 'CUSTOMER', n::text, 'c' || n, 'c' || n || '@example.com', '+120255501' || lpad(n::text, 2, '0'), '%[1]s/hooks/c' || n
		FROM   generate_series(1, %[2]d) n;
		INSERT INTO recipient_device (user_type, user_id, token) SELECT 'CUSTOMER', n::text, 'device-c' || n FROM generate_series(1, %[2]d) n;
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT 'RESTAURANT_USER', n::text, 's' || n, 's' || n || '@example.com' FROM generate_series(1, %[3]d * %[4]d + %[5]d) n;
		INSERT INTO recipient_device (user_type, user_id, token)
		SELECT 'RESTAURANT_USER', n::text, 'device-s' || n FROM generate_series(1, %[3]d * %[4]d) n;
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', CASE WHEN n <= %[3]d * %[4]d THEN ((n - 1) / %[4]d + 1)::text ELSE '%[6]s' END, 'RESTAURANT_USER', n::text, 'WAITER'
		FROM   generate_series(1, %[3]d * %[4]d + %[5]d) n;
		INSERT INTO event_type_channel_routing (event_type, channel_type)
		VALUES ('ORDER', 'EMAIL'), ('ORDER', 'SMS'), ('ORDER', 'PUSH'), ('ORDER', 'WEBHOOK'),
		       ('TABLE', 'EMAIL'), ('TABLE', 'PUSH'), ('NEWS', 'EMAIL');
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path)
		VALUES ('VISIT', 'EMAIL', 'DELAYED', 'at'), ('VISIT', 'SMS', 'DELAYED', 'at');
		INSERT INTO notification_template (title, body) VALUES ('Drill', 'For {{.recipient.name}}; event {{.payload.event}};')`,
		hooks, customers, restaurants, staffOf, people, crowd))
	return err
}

// load writes business transactions, and records them.
type load struct {
	rig.Load

	prefix  string // of the ids of events
	random  *rand.Rand
	profile profile
	rate    float64
	people  int           // that a broadcast reaches
	grace   time.Duration // as in [rig.Event]

	cancels []cancel // that are due later
}

// cancel is an event to cancel at a certain time.
type cancel struct {
	at    time.Time
	due   time.Time // when its messages begin; zero: at once
	event *rig.Event
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
			l.commit(ctx, l.broadcast())
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
		l.commit(ctx, l.order())
	case n < 65:
		l.commit(ctx, l.table())
	case n < 75: // a visit that takes place
		l.commit(ctx, l.visit(time.Now().Add(visitIn)))
	case n < 85: // a visit that is cancelled before its reminder is due
		due := time.Now().Add(visitIn)
		visit := l.visit(due)
		l.commit(ctx, visit)
		l.cancels = append(l.cancels, cancel{time.Now().Add(time.Duration(1+l.random.IntN(4)) * time.Second), due, visit})
	case n < 90: // an order that is cancelled in the transaction that writes it
		order := l.order()
		if l.commit(ctx, order, l.off(order)) == nil {
			order.CancelledAt = time.Now()
		}
	case n < 95: // an order that is cancelled while it is being sent
		order := l.order()
		l.commit(ctx, order)
		l.cancels = append(l.cancels, cancel{time.Now(), time.Time{}, order})
	default:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		_ = l.RollBack(ctx, l.order()) // a failure is a rollback too
	}
}

func (l *load) add(eventType, aggregateType, aggregateID string) *rig.Event {
	id := fmt.Sprintf("%s%d", l.prefix, len(l.Events)+1)
	return l.Add(outbox.Event{
		ID: id, Type: eventType, AggregateType: aggregateType, AggregateID: aggregateID, Payload: map[string]string{"event": id},
	})
}

// ask adds a person's message over a channel to the messages that the event asks for.
func ask(e *rig.Event, who, user, channel, address string) {
	name := map[string]string{"customer": "c", "staff": "s"}[who] + user
	e.Ask(who+user, channel, strings.ReplaceAll(address, "NAME", name), fmt.Sprintf("For %s; event %s;", name, e.ID))
}

func (l *load) order() *rig.Event {
	n := 1 + l.random.IntN(customers)
	e := l.add("ORDER", "CUSTOMER", fmt.Sprint(n))
	ask(e, "customer", fmt.Sprint(n), "EMAIL", "NAME@example.com")
	ask(e, "customer", fmt.Sprint(n), "SMS", fmt.Sprintf("+120255501%02d", n))
	ask(e, "customer", fmt.Sprint(n), "PUSH", "device-NAME")
	ask(e, "customer", fmt.Sprint(n), "WEBHOOK", "/hooks/NAME")
	return e
}

func (l *load) table() *rig.Event {
	restaurant := l.random.IntN(restaurants)
	e := l.add("TABLE", "RESTAURANT", fmt.Sprint(restaurant+1))
	for n := range staffOf {
		ask(e, "staff", fmt.Sprint(restaurant*staffOf+n+1), "EMAIL", "NAME@example.com")
		ask(e, "staff", fmt.Sprint(restaurant*staffOf+n+1), "PUSH", "device-NAME")
	}
	return e
}

// visitIn is the time until a reminder is due. It is longer than the time until the cancellation.
const visitIn = 15 * time.Second

func (l *load) visit(due time.Time) *rig.Event {
	n := 1 + l.random.IntN(customers)
	e := l.add("VISIT", "CUSTOMER", fmt.Sprint(n))
	e.Payload = map[string]string{"event": e.ID, "at": due.UTC().Format(time.RFC3339Nano)}
	ask(e, "customer", fmt.Sprint(n), "EMAIL", "NAME@example.com")
	ask(e, "customer", fmt.Sprint(n), "SMS", fmt.Sprintf("+120255501%02d", n))
	return e
}

func (l *load) broadcast() *rig.Event {
	e := l.add("NEWS", "RESTAURANT", crowd)
	for n := range l.people {
		ask(e, "staff", fmt.Sprint(restaurants*staffOf+n+1), "EMAIL", "NAME@example.com")
	}
	return e
}

// off returns an event that cancels another event.
func (l *load) off(target *rig.Event) *rig.Event {
	e := l.add("CALLED_OFF", "CUSTOMER", "1")
	e.Cancels, target.CancelledBy = target.ID, e.ID
	return e
}

// takeBack writes the cancellations that are due.
func (l *load) takeBack(ctx context.Context, now time.Time) {
	due := func(c cancel) bool { return c.at.Before(now) }
	for _, c := range l.cancels {
		if !due(c) {
			continue
		}
		if l.commit(ctx, l.off(c.event)) != nil {
			continue
		}
		if c.event.CancelledAt = time.Now(); c.due.Before(c.event.CancelledAt) {
			c.event.Grace = l.grace
		}
	}
	l.cancels = slices.DeleteFunc(l.cancels, due)
}

// commit writes events, also after the end of the run.
func (l *load) commit(ctx context.Context, events ...*rig.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	_, err := l.Commit(ctx, events...)
	return err
}

// settle finds out which transactions were committed, by their business rows. An event is not cancelled if
// its cancelling event was not committed.
func (l *load) settle(committed map[string]bool) {
	for _, e := range l.Events {
		e.Committed = committed[e.ID]
		if !committed[e.CancelledBy] {
			e.CancelledBy, e.CancelledAt = "", time.Time{}
		}
	}
}
