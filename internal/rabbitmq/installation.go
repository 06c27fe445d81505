package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// InstallationQueue holds one message: the name of the installation whose vhost
	// this is. Two installations in one vhost would take each other's messages, since
	// their queues have the same names. Who moves Herald deletes the queue.
	InstallationQueue = "herald.installation"

	// installationLock is a queue that only one connection at a time can have. Without
	// it, a process could find the queue empty while another reads the message.
	installationLock = InstallationQueue + ".lock"

	lockInterval = 50 * time.Millisecond
)

// Installation returns the name of the installation that marked the vhost of a
// URL, or "" where none did. It opens a connection of its own, which ends when ctx
// does, or after 10 s, whatever the broker does.
func Installation(ctx context.Context, url string) (string, error) {
	return withInstallation(ctx, url, func(ch *amqp.Channel) (string, error) {
		_, err := ch.QueueDeclarePassive(InstallationQueue, true, false, false, false, nil)
		if isRefusal(err, amqp.NotFound) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("look for queue %s: %w", InstallationQueue, err)
		}
		return readInstallation(ch)
	})
}

// MarkInstallation does as [Installation] does, and marks a vhost that has no mark
// with name. A crash leaves a whole mark or none.
func MarkInstallation(ctx context.Context, url, name string) (string, error) {
	return withInstallation(ctx, url, func(ch *amqp.Channel) (string, error) {
		args := amqp.Table{
			amqp.QueueTypeArg:     amqp.QueueTypeClassic, // one of another type may drop what was returned to it often
			amqp.QueueMaxLenArg:   int64(1),
			amqp.QueueOverflowArg: amqp.QueueOverflowRejectPublish,
		}
		if _, err := ch.QueueDeclare(InstallationQueue, true, false, false, false, args); err != nil {
			return "", explain("queue", InstallationQueue, err)
		}
		found, err := readInstallation(ch)
		if err != nil || found != "" {
			return found, err
		}
		if err := writeInstallation(ctx, ch, name); err != nil {
			return "", fmt.Errorf("mark the vhost: %w", err)
		}
		return name, nil
	})
}

// withInstallation calls do while nobody else uses the queue. The lock ends with the
// connection.
func withInstallation(ctx context.Context, url string, do func(ch *amqp.Channel) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	conn, err := dial(ctx, url, "herald-installation")
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(closeTimeout)) }() // what matters was confirmed
	ch, err := lockInstallation(ctx, conn)
	if err != nil {
		return "", err
	}
	return do(ch)
}

func lockInstallation(ctx context.Context, conn *amqp.Connection) (*amqp.Channel, error) {
	for {
		ch, err := conn.Channel()
		if err != nil {
			return nil, fmt.Errorf("open channel: %w", err)
		}
		_, err = ch.QueueDeclare(installationLock, false, false, true, false, nil)
		if err == nil {
			return ch, nil
		}
		if !isRefusal(err, amqp.ResourceLocked) {
			return nil, explain("queue", installationLock, err)
		}
		select { // the broker, which closed the channel, cannot be waited on
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for others who use queue %s: %w", InstallationQueue, ctx.Err())
		}
	}
}

// readInstallation returns the name in the queue, and leaves it there.
func readInstallation(ch *amqp.Channel) (string, error) {
	mark, found, err := ch.Get(InstallationQueue, false)
	if err != nil {
		return "", fmt.Errorf("read queue %s: %w", InstallationQueue, err)
	}
	if !found {
		return "", nil
	}
	if err := mark.Nack(false, true); err != nil {
		return "", fmt.Errorf("return the message of queue %s: %w", InstallationQueue, err)
	}
	// The broker answers this once the message is back, so that the lock lasts as long.
	if _, err := ch.QueueDeclarePassive(InstallationQueue, true, false, false, false, nil); err != nil {
		return "", fmt.Errorf("return the message of queue %s: %w", InstallationQueue, err)
	}
	return string(mark.Body), nil
}

// writeInstallation returns when the broker has the name. It publishes to the
// default exchange, so that no consumer of [Exchange] sees it.
func writeInstallation(ctx context.Context, ch *amqp.Channel, name string) error {
	if err := ch.Confirm(false); err != nil {
		return err
	}
	message := amqp.Publishing{ContentType: "text/plain", DeliveryMode: amqp.Persistent, Body: []byte(name)}
	confirmation, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", InstallationQueue, false, false, message)
	if err != nil {
		return err
	}
	taken, err := confirmation.WaitContext(ctx)
	if err == nil && !taken {
		err = errors.New("the broker did not take the message")
	}
	return err
}

func isRefusal(err error, code int) bool {
	var refusal *amqp.Error
	return errors.As(err, &refusal) && refusal.Code == code
}

// mark marks the vhost. It is called at each connection until it has succeeded.
// Where another installation has marked the vhost, it warns, and work goes on: it
// cannot know which of the two is wrong.
func (b *Broker) mark(ctx context.Context) {
	found, err := MarkInstallation(ctx, b.cfg.URL, b.cfg.Installation)
	switch {
	case err != nil && ctx.Err() != nil: // the next connection's turn
	case err != nil:
		b.log.Warn("the vhost is not marked as this installation's: another one that uses it would not be noticed", "error", err)
	case found != b.cfg.Installation:
		b.log.Warn("the vhost is used by another installation as well, and each needs one of its own; where Herald has moved, delete the queue "+InstallationQueue+
			" and start the workers again", "installation", b.cfg.Installation, "other", found)
	}
	b.marked = err == nil
}
