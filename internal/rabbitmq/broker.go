// Package rabbitmq publishes to the broker. A nil error guarantees that the message is in its
// queue. The package restores the connection and the topology itself, because the client
// library's recovery gives up.
package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/singleflight"

	"herald/internal/notification"
)

// Config holds the settings of a [Broker].
type Config struct {
	URL    string // amqp:// or amqps://, with credentials and vhost
	Logger *slog.Logger
	Bounds Bounds // for queues that do not exist yet
}

// Broker is a connection to RabbitMQ that reconnects when it breaks. It is safe for concurrent
// use.
type Broker struct {
	cfg     Config
	log     *slog.Logger
	queues  *topology
	depths  singleflight.Group
	stop    context.CancelFunc
	stopped chan struct{} // closed when the supervisor has ended

	mu    sync.Mutex
	state state
}

// state is the current session, or the reason why there is none.
type state struct {
	session *session      // nil: not connected
	err     error         // why it is not connected
	changed chan struct{} // closed at the next change
}

var (
	errConnecting = errors.New("connecting")
	errClosed     = errors.New("closed")
	errMalformed  = errors.New("connect to RabbitMQ: the URL is not of the form amqp://user:password@host:port/vhost")
	errBlocked    = errors.New("publishing is blocked by a memory or disk alarm")
)

// Connect starts a Broker and waits until its first connection attempt or ctx has ended. A broker
// that is down is no error: attempts continue in the background until [Broker.Close]. Connect
// fails only if the URL is malformed. The error does not repeat the URL, which contains a
// password.
func Connect(ctx context.Context, cfg Config) (*Broker, error) {
	if _, err := amqp.ParseURI(cfg.URL); err != nil {
		return nil, errMalformed
	}

	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &Broker{
		cfg:     cfg,
		log:     cfg.Logger,
		queues:  newTopology(cfg.Bounds),
		stop:    stop,
		stopped: make(chan struct{}),
		state:   state{err: errConnecting, changed: make(chan struct{})},
	}
	attempted := b.state.changed
	go b.supervise(life)

	select {
	case <-attempted:
	case <-ctx.Done():
	}
	return b, nil
}

// Declare creates the queues of user types that an installation added, now or after the next
// connection. If a type is added later, its first message that reaches no gateway creates the
// queues.
func (b *Broker) Declare(types []notification.UserTypeRow) {
	added := b.queues.addTypes(types)
	if s := b.current().session; added && s != nil {
		_ = s.repair(s.generation.Load()) // a failure ends the session, and the next session declares all queues
	}
}

// Close ends the connection within a few seconds, even while the broker is blocked. Running
// publications fail.
func (b *Broker) Close() {
	b.stop()
	<-b.stopped
}

// Ready returns nil if messages can be published, or else the reason why not.
func (b *Broker) Ready() error { return b.current().ready() }

func (s state) ready() error {
	switch {
	case s.session == nil:
		return fmt.Errorf("RabbitMQ: %w", s.err)
	case s.session.blocked.Load():
		return fmt.Errorf("RabbitMQ: %w", errBlocked)
	default:
		return nil
	}
}

func (b *Broker) current() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *Broker) set(s *session, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.state.changed)
	b.state = state{session: s, err: err, changed: make(chan struct{})}
}

// Causes of a failed publication.
const (
	codeTimeout      = "timeout"
	codeCancelled    = "cancelled"
	codeNotConnected = "not connected"
	codeLost         = "connection lost"
	codeBlocked      = "blocked"
	codeNegative     = "negative confirmation"
	codeUnroutable   = "unroutable"
	codeNoExchange   = "no exchange"
	codeNoAccess     = "access refused"
	codeNoAudience   = "unknown audience"
	codeTooLong      = "property over 255 bytes"
	codeNotJSON      = "payload is not JSON"
)

// retryAfter gives an overloaded broker time to recover.
const retryAfter = 5 * time.Second

// busy returns a failure after which the message is certainly in no queue.
func busy(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Busy, Code: code, RetryAfter: retryAfter}
}

// ambiguous returns a failure after which the message may be in its queue.
func ambiguous(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Ambiguous, Code: code}
}

// refused returns a failure that would repeat at every attempt.
func refused(code string) *notification.ProviderError {
	return &notification.ProviderError{Provider: "rabbitmq", Class: notification.Refused, Code: code}
}

// interrupted returns the failure of a call whose context ended.
func interrupted(ctx context.Context) *notification.ProviderError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ambiguous(codeTimeout)
	}
	return ambiguous(codeCancelled)
}

// Depths returns the number of waiting messages in each queue that Herald publishes to, by queue
// name. It does not count messages that a consumer holds. It returns by the end of ctx.
// Concurrent calls share one answer.
func (b *Broker) Depths(ctx context.Context) (map[string]int, error) {
	now := b.current()
	if err := now.ready(); err != nil { // a blocked broker would not answer
		return nil, err
	}
	found := b.depths.DoChan("", func() (any, error) { return now.session.depths() })
	select {
	case result := <-found:
		depths, _ := result.Val.(map[string]int)
		return depths, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("ask RabbitMQ for the depth of its queues: %w", ctx.Err())
	}
}

// depths has no context, because the client library takes none. It ends with the session at the
// latest.
func (s *session) depths() (map[string]int, error) {
	ch, err := s.conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	defer func() { _ = ch.Close() }() // nothing can be lost
	depths := map[string]int{}
	for _, q := range s.queues.all() {
		state, err := ch.QueueDeclarePassive(q.name, true, false, false, false, nil)
		if err != nil {
			return nil, fmt.Errorf("look at queue %s: %w", q.name, err)
		}
		depths[q.name] = state.Messages
	}
	return depths, nil
}
