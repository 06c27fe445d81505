package rabbitmq

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"herald/internal/notification"
)

const (
	// maxTries limits the attempts of one call.
	maxTries = 3

	// confirmTimeout is the maximum wait for a confirmation. Then the worker gives up the channel.
	// The caller has left long before.
	confirmTimeout = time.Minute
)

// job is one message for a worker.
type job struct {
	ctx     context.Context // the context of the caller
	message Message
	result  chan error // buffered, because the caller may have left
}

// worker owns one channel with one message in flight. So a return, a confirmation or a closed channel
// always concerns that message. The worker waits for the broker's answer, even if the caller has left.
type worker struct {
	session *session
	channel *amqp.Channel // nil or closed: open a new one
	returns chan amqp.Return
	closed  chan *amqp.Error
}

func (w *worker) run() {
	for {
		select {
		case j := <-w.session.jobs:
			j.result <- w.publish(j.ctx, j.message)
		case <-w.session.ctx.Done():
			return
		}
	}
}

// publish retries at once, with the same message id, after a negative confirmation and after a
// repair of the topology.
func (w *worker) publish(ctx context.Context, m Message) error {
	var failure *notification.ProviderError
	for range maxTries {
		generation := w.session.generation.Load()
		if failure = w.try(ctx, m); failure == nil {
			return nil
		}
		switch failure.Code {
		case codeNegative:
		case codeUnroutable, codeNoExchange:
			if err := w.session.repair(generation); err != nil {
				return failure
			}
		default:
			return failure
		}
	}
	if failure.Code == codeUnroutable && !w.session.queues.routed(m.RoutingKey) {
		return refused(codeUnroutable)
	}
	return failure
}

// try publishes once and waits for the broker's answer.
func (w *worker) try(ctx context.Context, m Message) *notification.ProviderError {
	if err := w.open(); err != nil {
		return busy(codeNotConnected)
	}
	if ctx.Err() != nil { // opening the channel took too long
		return interrupted(ctx)
	}

	confirmation, err := w.channel.PublishWithDeferredConfirmWithContext(ctx, Exchange, m.RoutingKey, true, false, m.publishing())
	switch {
	case errors.Is(err, amqp.ErrClosed): // before the message was complete
		return busy(codeNotConnected)
	case err != nil && ctx.Err() != nil:
		return interrupted(ctx)
	case err != nil: // half a message may be in the buffer, so nothing may follow it
		w.session.end(err)
		return ambiguous(codeLost)
	}

	wait, cancel := context.WithTimeout(w.session.ctx, confirmTimeout)
	defer cancel()
	acknowledged, err := confirmation.WaitContext(wait)
	switch {
	case err != nil:
		_ = w.channel.Close() // it may wait until the session ends, but no caller waits for it
		return ambiguous(codeLost)
	case acknowledged:
		return w.returned()
	default:
		return w.rejected()
	}
}

// open opens a channel in confirm mode, unless one is open.
func (w *worker) open() error {
	if w.channel != nil && !w.channel.IsClosed() {
		return nil
	}
	ch, err := w.session.conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	w.channel = ch
	w.returns = ch.NotifyReturn(make(chan amqp.Return, 1))
	w.closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	return nil
}

// returned returns the failure of an acknowledged message, or nil. If no queue takes a message,
// the broker returns it and then acknowledges it too.
func (w *worker) returned() *notification.ProviderError {
	select {
	case _, ok := <-w.returns:
		if ok {
			return busy(codeUnroutable)
		}
	default:
	}
	return nil
}

// rejected returns why a message was not acknowledged. The library reports a closed channel like
// a negative confirmation.
func (w *worker) rejected() *notification.ProviderError {
	if !w.channel.IsClosed() {
		return ambiguous(codeNegative)
	}
	var reason *amqp.Error
	select {
	case reason = <-w.closed:
	default:
	}
	switch {
	case reason != nil && reason.Code == amqp.NotFound:
		return busy(codeNoExchange)
	case reason != nil && reason.Code == amqp.AccessRefused:
		return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Account, Code: codeNoAccess}
	default:
		return ambiguous(codeLost)
	}
}
