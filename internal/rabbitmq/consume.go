package rabbitmq

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// ConsumerConfig holds the settings of a [Consumer].
type ConsumerConfig struct {
	URL    string // amqp:// or amqps://, with credentials and vhost
	Logger *slog.Logger

	// Deliver gets each websocket message, one at a time. Until it returns, the broker keeps the
	// next messages, up to a limit.
	Deliver func(routingKey string, body []byte)

	// Missed is called with a time: messages since then may never arrive. It is called before the
	// first Deliver of each subscription, and when the broker dropped messages. It never runs at
	// the same time as Deliver.
	Missed func(since time.Time)
}

// Consumer gets all websocket messages through a separate queue, which ends with its connection.
// It reconnects after each loss.
type Consumer struct {
	cfg     ConsumerConfig
	stop    context.CancelFunc
	stopped chan struct{} // closed when the supervisor has ended

	mu  sync.Mutex
	err error // why there is no subscription; nil: subscribed

	intact time.Time // no message was missed before this time; only the supervisor uses it
}

// Consume starts a Consumer. A broker that is down is no error: attempts continue in the
// background until [Consumer.Close]. Consume fails only if the URL is malformed. The error does
// not repeat the URL, which contains a password.
func Consume(ctx context.Context, cfg ConsumerConfig) (*Consumer, error) {
	if _, err := amqp.ParseURI(cfg.URL); err != nil {
		return nil, errMalformed
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Consumer{cfg: cfg, stop: stop, stopped: make(chan struct{}), err: errConnecting, intact: time.Now()}
	go func() {
		defer close(c.stopped)
		defer c.set(errClosed)
		supervise(life, cfg.Logger, c.serve, c.set)
	}()
	return c, nil
}

// Ready returns nil while subscribed, or else the reason why not.
func (c *Consumer) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return fmt.Errorf("RabbitMQ: %w", c.err)
	}
	return nil
}

// Close ends the subscription. It waits for the last Deliver.
func (c *Consumer) Close() {
	c.stop()
	<-c.stopped
}

func (c *Consumer) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// serve connects, subscribes and delivers. It returns the reason for the end.
func (c *Consumer) serve(ctx context.Context) error {
	life, end := context.WithCancel(ctx) // its end closes the socket
	defer end()
	slow := time.AfterFunc(openTimeout, end)
	conn, err := dial(life, c.cfg.URL, "herald-gateway")
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(closeTimeout)) }()
	s, err := subscribe(conn)
	if err != nil {
		return err
	}
	if !slow.Stop() {
		return context.DeadlineExceeded
	}
	c.cfg.Logger.Info("subscribed to the websocket messages of RabbitMQ")
	c.cfg.Missed(c.intact)
	c.set(nil)
	err = c.deliver(ctx, s)
	c.intact = s.clock.intact(time.Now())
	return err
}

// deliver passes on messages until the subscription or ctx ends.
func (c *Consumer) deliver(ctx context.Context, s *subscription) error {
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errClosed
		case now := <-tick.C:
			if err := s.look(now); err != nil {
				return err
			}
		case m, ok := <-s.dropped:
			if !ok {
				return s.reason()
			}
			c.cfg.Logger.Warn("RabbitMQ dropped websocket messages because this gateway was too slow; open sockets read them from the database")
			c.cfg.Missed(s.idle)
			if err := m.Ack(false); err != nil {
				return err
			}
		case m, ok := <-s.messages:
			if !ok {
				return s.reason()
			}
			c.cfg.Deliver(m.RoutingKey, m.Body)
			if err := m.Ack(false); err != nil {
				return err
			}
		}
	}
}
