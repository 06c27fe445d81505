package rabbitmq

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// prefetch bounds what a gateway has of its queue. The client library keeps without
	// bound what was acknowledged in advance, so each message is acknowledged by itself.
	prefetch = 256

	// gatewayLength and gatewayBytes bound what the broker keeps for a gateway that is slow.
	gatewayLength = 10_000
	gatewayBytes  = 64 << 20
)

// subscription is a gateway's queue. What does not fit into it makes the broker put a
// message into a second queue, so that the gateway knows.
type subscription struct {
	channel  *amqp.Channel
	queue    string
	messages <-chan amqp.Delivery
	dropped  <-chan amqp.Delivery
	closed   <-chan *amqp.Error
	idle     time.Time // of the last look at which no message waited
	clock    clock
}

func subscribe(conn *amqp.Connection) (*subscription, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	if err := ch.ExchangeDeclare(Exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		return nil, explain("exchange", Exchange, err)
	}
	if err := ch.Qos(prefetch, 0, false); err != nil {
		return nil, fmt.Errorf("set prefetch: %w", err)
	}
	dropped, err := declareOwn(ch, amqp.Table{amqp.QueueMaxLenArg: int64(1)})
	if err != nil {
		return nil, err
	}
	messages, err := declareOwn(ch, amqp.Table{
		amqp.QueueMaxLenArg:         int64(gatewayLength),
		amqp.QueueMaxLenBytesArg:    int64(gatewayBytes),
		amqp.QueueOverflowArg:       amqp.QueueOverflowDropHead,
		"x-dead-letter-exchange":    "", // the default exchange, whose keys are names of queues
		"x-dead-letter-routing-key": dropped,
	})
	if err != nil {
		return nil, err
	}
	if err := ch.QueueBind(messages, WebSocketQueue("#"), Exchange, false, nil); err != nil {
		return nil, explain("binding of queue", messages, err)
	}
	now := time.Now()
	s := &subscription{channel: ch, queue: messages, closed: ch.NotifyClose(make(chan *amqp.Error, 1)), idle: now, clock: clock{now, now}}
	if s.dropped, err = ch.Consume(dropped, "", false, true, false, false, nil); err != nil {
		return nil, fmt.Errorf("consume queue: %w", err)
	}
	if s.messages, err = ch.Consume(messages, "", false, true, false, false, nil); err != nil {
		return nil, fmt.Errorf("consume queue: %w", err)
	}
	return s, nil
}

// declareOwn creates a queue that is gone with its connection. The broker chooses its name.
func declareOwn(ch *amqp.Channel, args amqp.Table) (name string, err error) {
	args[amqp.QueueTypeArg] = amqp.QueueTypeClassic // others cannot be exclusive
	q, err := ch.QueueDeclare("", false, true, true, false, args)
	if err != nil {
		return "", explain("queue", "of this gateway", err)
	}
	return q.Name, nil
}

// look notes the time, and whether messages wait.
func (s *subscription) look(now time.Time) error {
	s.clock.tick(now)
	q, err := s.channel.QueueDeclarePassive(s.queue, false, true, true, false, nil)
	if err != nil {
		return fmt.Errorf("look at queue %s: %w", s.queue, err)
	}
	if q.Messages == 0 {
		s.idle = now
	}
	return nil
}

// reason says why the subscription has ended.
func (s *subscription) reason() error {
	if err := <-s.closed; err != nil {
		return err
	}
	return errClosed
}

const (
	// clockInterval is how often a subscription looks at the clock.
	clockInterval = 15 * time.Second

	// silence is how long a connection can be dead before the client library notices:
	// three heartbeats.
	silence = 3 * heartbeat
)

// clock has the last two looks at the time. A process that was suspended looks once,
// at most, before it notices that its connection is gone.
type clock struct{ before, last time.Time }

func (c *clock) tick(now time.Time) { c.before, c.last = c.last, now }

// intact is until when a subscription that was lost now has certainly got all messages.
func (c *clock) intact(now time.Time) time.Time {
	if silent := now.Add(-silence); silent.Before(c.before) {
		return silent
	}
	return c.before
}
