package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"herald/internal/notification"
)

// Flaw is a part of the topology that differs from Herald's needs.
type Flaw struct {
	Name   string // queue notification.admin
	Differ string // the broker's error about a setting that differs; empty: the part is missing
}

// Flaws compares a vhost's exchange and queues with Herald's. The first message creates the queues
// of added user types, so Flaws does not miss them. It creates nothing. The broker's protocol lists
// no bindings: Herald binds each queue when it connects, and again when a message finds no queue.
// Flaws uses a separate connection, which ends with ctx, or after 10 s.
func Flaws(ctx context.Context, url string, added []notification.UserTypeRow) ([]Flaw, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	conn, err := dial(ctx, url, "herald-check")
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(closeTimeout)) }() // nothing can be lost
	exchange := func(ch *amqp.Channel, declare exchangeDeclare) error {
		return declare(ch, Exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	}
	var flaws []Flaw
	found, err := compare(conn, "exchange "+Exchange,
		func(ch *amqp.Channel) error { return exchange(ch, (*amqp.Channel).ExchangeDeclarePassive) },
		func(ch *amqp.Channel) error { return exchange(ch, (*amqp.Channel).ExchangeDeclare) })
	if err != nil {
		return nil, err
	}
	flaws = append(flaws, found...)
	topology := newTopology(Bounds{})
	always := len(topology.all())
	topology.addTypes(added)
	for i, q := range topology.all() {
		found, err := compare(conn, "queue "+q.name,
			func(ch *amqp.Channel) error { return q.look(ch, (*amqp.Channel).QueueDeclarePassive) },
			func(ch *amqp.Channel) error { return q.look(ch, (*amqp.Channel).QueueDeclare) })
		if err != nil {
			return nil, err
		}
		if i < always || len(found) > 0 && found[0].Differ != "" {
			flaws = append(flaws, found...)
		}
	}
	return flaws, nil
}

type (
	exchangeDeclare func(ch *amqp.Channel, name, kind string, durable, autoDelete, internal, noWait bool, args amqp.Table) error
	queueDeclare    func(ch *amqp.Channel, name string, durable, autoDelete, exclusive, noWait bool, args amqp.Table) (amqp.Queue, error)
)

// look declares the queue. With otherBounds, an existing queue with other limits is fine.
func (q queue) look(ch *amqp.Channel, declare queueDeclare) error {
	_, err := declare(ch, q.name, true, false, false, false, q.args)
	if q.otherBounds && hasOtherBounds(err) {
		return nil
	}
	return err
}

// compare checks whether something exists, and only then declares it. If the settings match,
// nothing changes; otherwise the broker refuses. Each refusal costs a channel.
func compare(conn *amqp.Connection, name string, exists, declare func(ch *amqp.Channel) error) ([]Flaw, error) {
	for _, ask := range []func(ch *amqp.Channel) error{exists, declare} {
		ch, err := conn.Channel()
		if err != nil {
			return nil, fmt.Errorf("open channel: %w", err)
		}
		err = ask(ch)
		switch {
		case isRefusal(err, amqp.NotFound):
			return []Flaw{{Name: name}}, nil
		case isRefusal(err, amqp.PreconditionFailed), isRefusal(err, amqp.ResourceLocked):
			return []Flaw{{Name: name, Differ: Cause(err)}}, nil
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
		_ = ch.Close() // nothing can be lost
	}
	return nil, nil
}

// Cause describes an error of [Flaws] without an address.
func Cause(err error) string {
	var refused *amqp.Error
	switch {
	case errors.As(err, &refused):
		return refused.Reason
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "no connection"
	}
}

func isRefusal(err error, code int) bool {
	var refusal *amqp.Error
	return errors.As(err, &refusal) && refusal.Code == code
}
