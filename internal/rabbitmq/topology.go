package rabbitmq

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"herald/internal/notification"
)

const (
	// Exchange is the durable topic exchange of everything that Herald publishes.
	Exchange = "notifications.exchange"
	// DeadLetterQueue takes the deliveries that were given up.
	DeadLetterQueue = "notification.dead-letter"

	// EveryAudience is the last word of the websocket queue of messages to everybody.
	// Herald creates it for other publishers. Its own messages are all to one person.
	EveryAudience = "all"

	webSocketTTL    = time.Minute // nobody reads a pop-up that is older
	webSocketLength = 10_000      // messages; the oldest give way
)

// EventQueue is the queue, and the routing key, of an audience's domain messages.
func EventQueue(audience string) string { return "notification." + audience }

// WebSocketQueue is the queue, and the routing key, of an audience's websocket
// messages.
func WebSocketQueue(audience string) string { return "notification.websocket." + audience }

// Bounds limit the queues of domain messages and [DeadLetterQueue], whose consumers
// may be away for days. A full queue refuses messages. Herald publishes them again
// later, so that nothing is lost.
type Bounds struct {
	Length int           // messages; 0: none
	TTL    time.Duration // after which a message is dropped; 0: never
}

func (b Bounds) args() amqp.Table {
	args := amqp.Table{}
	if b.Length > 0 {
		args[amqp.QueueMaxLenArg] = int64(b.Length)
		args[amqp.QueueOverflowArg] = amqp.QueueOverflowRejectPublish
	}
	if b.TTL > 0 {
		args[amqp.QueueMessageTTLArg] = b.TTL.Milliseconds()
	}
	return args
}

// queue is a durable queue, bound to [Exchange] by its own name.
type queue struct {
	name string
	args amqp.Table
	// otherBounds: where the queue exists with other bounds, it is used as it is.
	// Consumers declare it too, and the bounds of a queue cannot change.
	otherBounds bool
}

// topology is the queues that Herald publishes to: those that are always there, and
// those of user types that an installation has added, as they are met.
type topology struct {
	bounds Bounds

	mu     sync.Mutex
	queues []queue
}

func newTopology(bounds Bounds) *topology {
	t := &topology{bounds: bounds}
	t.queues = []queue{{DeadLetterQueue, bounds.args(), true}}
	for _, audience := range notification.AggregateAudiences() {
		t.addEvents(audience)
	}
	for _, audience := range []string{"restaurant", "customer", "agency", "admin", "guest", EveryAudience} {
		t.queues = append(t.queues, queue{name: WebSocketQueue(audience), args: webSocketArgs()})
	}
	return t
}

// addEvents adds the queue of an audience's domain messages.
func (t *topology) addEvents(audience string) (added bool) {
	return t.add(queue{EventQueue(audience), t.bounds.args(), true})
}

// addWebSocket adds the queue of an audience's websocket messages. Gateways may have
// declared it before Herald met it.
func (t *topology) addWebSocket(audience string) (added bool) {
	return t.add(queue{WebSocketQueue(audience), webSocketArgs(), true})
}

// add adds a queue that the topology does not have. The next declaration creates it.
func (t *topology) add(q queue) (added bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.queues, func(other queue) bool { return other.name == q.name }) {
		return false
	}
	t.queues = append(t.queues, q)
	return true
}

func (t *topology) all() []queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.queues)
}

// routed says whether the topology has a queue for a routing key.
func (t *topology) routed(key string) bool {
	return slices.ContainsFunc(t.all(), func(q queue) bool { return q.name == key })
}

func webSocketArgs() amqp.Table {
	return amqp.Table{
		amqp.QueueMessageTTLArg: webSocketTTL.Milliseconds(),
		amqp.QueueMaxLenArg:     int64(webSocketLength),
		amqp.QueueOverflowArg:   amqp.QueueOverflowDropHead,
	}
}

// declare creates the exchange, the queues and the bindings that are missing, and
// changes nothing that exists. It uses a channel of its own, because the broker
// closes the channel on which a declaration fails.
func declare(conn *amqp.Connection, queues []queue, log *slog.Logger) error {
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	if err := ch.ExchangeDeclare(Exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		return explain("exchange", Exchange, err)
	}
	for _, q := range queues {
		_, err := ch.QueueDeclare(q.name, true, false, false, false, q.args)
		if q.otherBounds && hasOtherBounds(err) {
			log.Warn("a queue exists with other bounds than the settings', and keeps them; a policy of the broker can change them", "queue", q.name)
			ch, err = conn.Channel()
		}
		if err != nil {
			return explain("queue", q.name, err)
		}
		if err := ch.QueueBind(q.name, q.name, Exchange, false, nil); err != nil {
			return explain("binding of queue", q.name, err)
		}
	}
	return ch.Close()
}

// hasOtherBounds says whether a declaration was refused only because the queue
// exists with another length or TTL.
func hasOtherBounds(err error) bool {
	return isRefusal(err, amqp.PreconditionFailed) &&
		slices.ContainsFunc([]string{amqp.QueueMaxLenArg, amqp.QueueOverflowArg, amqp.QueueMessageTTLArg}, func(arg string) bool {
			return strings.Contains(err.Error(), "'"+arg+"'")
		})
}

// explain tells an operator what to do about a declaration that was refused.
func explain(kind, name string, err error) error {
	if isRefusal(err, amqp.PreconditionFailed) {
		return fmt.Errorf("%s %s exists with other settings than Herald's: empty it, delete it "+
			"(rabbitmqctl delete_queue, or the management page), and Herald will create it anew: %w", kind, name, err)
	}
	return fmt.Errorf("declare %s %s: %w", kind, name, err)
}
