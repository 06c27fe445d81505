package rig

import (
	amqp "github.com/rabbitmq/amqp091-go"
)

// Exchange is the exchange of domain messages.
const Exchange = "notifications.exchange"

// queue is the name of the queue that gets the message of every event.
const queue = "tools"

// Channel calls do with a channel to the installation's vhost.
func (in *Installation) Channel(do func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(in.VHost)
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

// BindQueue creates a queue that gets the message of every event.
func (in *Installation) BindQueue() error {
	return in.Channel(func(channel *amqp.Channel) error {
		if err := channel.ExchangeDeclare(Exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return err
		}
		return channel.QueueBind(queue, "#", Exchange, false, nil)
	})
}

// ReadQueue empties the queue, and returns the number of messages by event id.
func (in *Installation) ReadQueue() (map[string]int, error) {
	ids := map[string]int{}
	return ids, in.Channel(func(channel *amqp.Channel) error {
		for {
			message, found, err := channel.Get(queue, true)
			if err != nil || !found {
				return err
			}
			ids[message.MessageId]++
		}
	})
}
