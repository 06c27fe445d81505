package main

import (
	amqp "github.com/rabbitmq/amqp091-go"
)

// queue is the name of the queue that gets the message of every event.
const queue = "drill"

func (s *stage) inVHost(do func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(s.VHost)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	return do(channel)
}

func (s *stage) bindQueue() error {
	return s.inVHost(func(channel *amqp.Channel) error {
		const exchange = "notifications.exchange"
		if err := channel.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return err
		}
		return channel.QueueBind(queue, "#", exchange, false, nil)
	})
}

// readQueue empties the queue, and returns the ids of the events.
func (s *stage) readQueue() (map[string]bool, error) {
	ids := map[string]bool{}
	return ids, s.inVHost(func(channel *amqp.Channel) error {
		for {
			message, found, err := channel.Get(queue, true)
			if err != nil || !found {
				return err
			}
			ids[message.MessageId] = true
		}
	})
}
