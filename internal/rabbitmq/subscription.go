package rabbitmq

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// prefetch limits the messages that a gateway holds. The client library stores messages with
	// early acknowledgement without a limit, so each message is acknowledged separately.
	prefetch = 256

	// gatewayLength and gatewayBytes limit the broker's queue for a slow gateway.
	gatewayLength = 10_000
	gatewayBytes  = 64 << 20
)

// subscription is a gateway's queue. If the queue overflows, the broker puts a message into a
// second queue, so that the gateway knows.
type subscription struct {
	channel  *amqp.Channel
	queue    string
	messages <-chan amqp.Delivery
	dropped  <-chan amqp.Delivery
	closed   <-chan *amqp.Error
	idle     time.Time // the last look without waiting messages
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
		"x-dead-letter-exchange":    "", // the default exchange: its keys are queue names
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

// declareOwn creates a queue that ends with its connection. The broker chooses its name.
func declareOwn(ch *amqp.Channel, args amqp.Table) (name string, err error) {
	args[amqp.QueueTypeArg] = amqp.QueueTypeClassic // other types cannot be exclusive
	q, err := ch.QueueDeclare("", false, true, true, false, args)
	if err != nil {
		return "", explain("queue", "of this gateway", err)
	}
	return q.Name, nil
}

// look records the time, and whether messages wait.
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

// reason returns why the subscription ended.
func (s *subscription) reason() error {
	if err := <-s.closed; err != nil {
		return err
	}
	return errClosed
}

const (
	// clockInterval is the time between two looks at the clock.
	clockInterval = 15 * time.Second

	// silence is the longest time until the client library notices a dead connection: three
	// heartbeats.
	silence = 3 * heartbeat
)

// clock holds the last two looks at the time. A suspended process looks at most once before it
// notices the loss of its connection.
type clock struct{ before, last time.Time }

func (c *clock) tick(now time.Time) { c.before, c.last = c.last, now }

// intact returns the time until which a subscription, lost at now, has certainly received all
// messages.
func (c *clock) intact(now time.Time) time.Time {
	if silent := now.Add(-silence); silent.Before(c.before) {
		return silent
	}
	return c.before
}
