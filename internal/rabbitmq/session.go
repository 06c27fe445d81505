package rabbitmq

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	openTimeout  = 10 * time.Second // to dial, log in and declare the topology
	closeTimeout = 3 * time.Second  // for the broker's goodbye
	writeTimeout = 10 * time.Second // per write; a blocked broker does not read
	heartbeat    = 10 * time.Second

	// channels is the number of AMQP channels, and so the maximum of messages in flight.
	channels = 32
)

// session is one connection to the broker with its publishers. The end of its context closes the
// socket, and so ends every wait for the broker: the client library's calls take no context.
type session struct {
	conn    *amqp.Connection
	log     *slog.Logger
	queues  *topology
	jobs    chan job
	blocked atomic.Bool // by a memory or disk alarm
	ctx     context.Context
	end     context.CancelCauseFunc
	workers sync.WaitGroup

	repairs    sync.Mutex
	generation atomic.Int64 // of the topology; each repair increases it
}

// openSession connects and declares the topology. ctx limits only the opening. The session lives
// until it is closed or lost.
func openSession(ctx context.Context, cfg Config, queues *topology) (*session, error) {
	s := &session{log: cfg.Logger, queues: queues, jobs: make(chan job)}
	s.ctx, s.end = context.WithCancelCause(context.WithoutCancel(ctx))

	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	opened := context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
	defer opened()

	if err := s.open(cfg.URL); err != nil {
		s.end(err)
		return nil, err
	}
	for range channels {
		s.workers.Go((&worker{session: s}).run)
	}
	return s, nil
}

func (s *session) open(url string) error {
	conn, err := dial(s.ctx, url, "herald")
	if err != nil {
		return err
	}
	s.conn = conn
	go s.watch(conn.NotifyClose(make(chan *amqp.Error, 1)), conn.NotifyBlocked(make(chan amqp.Blocking, 8)))
	return declare(conn, s.queues.all(), s.log)
}

// dial opens a connection. The end of ctx closes its socket.
func dial(ctx context.Context, url, name string) (*amqp.Connection, error) {
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	open := func(network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return boundedConn{conn}, nil
	}
	return amqp.DialConfig(url, amqp.Config{Dial: open, Heartbeat: heartbeat, Properties: properties})
}

// watch ends the session with its connection, and records alarms until then.
func (s *session) watch(closed <-chan *amqp.Error, blocking <-chan amqp.Blocking) {
	for {
		select {
		case reason := <-closed:
			if reason == nil { // we closed it
				s.end(errClosed)
			} else {
				s.end(reason)
			}
			return
		case state, open := <-blocking:
			if !open {
				blocking = nil
				continue
			}
			s.blocked.Store(state.Active)
			s.log.Warn("RabbitMQ changed its alarm", "blocked", state.Active, "reason", state.Reason)
		}
	}
}

// repair declares the topology again, unless another worker did so after generation seen. If that
// fails, it ends the session. Then the supervisor tries again and [Broker.Ready] returns the
// reason.
func (s *session) repair(seen int64) error {
	s.repairs.Lock()
	defer s.repairs.Unlock()
	if s.generation.Load() != seen {
		return nil
	}
	s.log.Warn("a part of the topology is missing in RabbitMQ; declaring it")
	if err := declare(s.conn, s.queues.all(), s.log); err != nil {
		err = fmt.Errorf("declare the topology again: %w", err)
		s.end(err)
		return err
	}
	s.generation.Add(1)
	return nil
}

// close ends the session. It waits at most closeTimeout for the broker's goodbye, because a blocked broker
// does not answer.
func (s *session) close() {
	force := time.AfterFunc(closeTimeout, func() { s.end(errClosed) })
	defer force.Stop()
	_ = s.conn.Close() // the important messages are confirmed
	s.end(errClosed)
	s.workers.Wait()
}

// boundedConn gives each write a deadline. The client library sets none, so it would wait for
// ever if the broker stopped reading.
type boundedConn struct{ net.Conn }

func (c boundedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second

	// stable is the lifetime of a connection after which the back-off starts again.
	stable = 30 * time.Second
)

// supervise calls serve repeatedly until ctx ends. serve opens a session and returns the reason
// for its end. supervise calls lost with each reason.
func supervise(ctx context.Context, log *slog.Logger, serve func(context.Context) error, lost func(error)) {
	for failures := 0; ; failures++ {
		opened := time.Now()
		err := serve(ctx)
		if ctx.Err() != nil {
			return
		}
		lost(err)
		if time.Since(opened) > stable {
			failures = 0
		}

		wait := backoff(failures)
		log.Warn("no connection to RabbitMQ", "error", err, "next_attempt_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// supervise keeps one session open until ctx ends.
func (b *Broker) supervise(ctx context.Context) {
	defer close(b.stopped)
	defer b.set(nil, errClosed)
	supervise(ctx, b.log, b.serve, func(err error) { b.set(nil, err) })
}

// serve opens a session. It returns the reason for the session's end.
func (b *Broker) serve(ctx context.Context) error {
	s, err := openSession(ctx, b.cfg, b.queues)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	b.log.Info("connected to RabbitMQ")
	b.set(s, nil)

	select {
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	s.close()
	return context.Cause(s.ctx)
}

// backoff doubles from firstBackoff to maxBackoff. Half of it is random, so that workers do not
// return to a restarted broker at the same moment.
func backoff(failures int) time.Duration {
	full := min(firstBackoff<<min(failures, 16), maxBackoff)
	return full/2 + rand.N(full/2)
}
