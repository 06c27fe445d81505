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
	// Exchange is the durable topic exchange for all of Herald's messages.
	Exchange = "notifications.exchange"
	// DeadLetterQueue gets the messages about given-up deliveries.
	DeadLetterQueue = "notification.dead-letter"

	// EveryAudience is the last word of the websocket queue for messages to everybody. Herald
	// creates the queue for other publishers. Herald itself sends each message to one person.
	EveryAudience = "all"

	webSocketTTL    = time.Minute // nobody reads an older pop-up
	webSocketLength = 10_000      // messages; the oldest are dropped
)

// EventQueue returns the queue and routing key of an audience's domain messages.
func EventQueue(audience string) string { return "notification." + audience }

// WebSocketQueue returns the queue and routing key of an audience's websocket messages.
func WebSocketQueue(audience string) string { return "notification.websocket." + audience }

// Bounds limits the queues of domain messages and [DeadLetterQueue], whose consumers may be away
// for days. A full queue refuses messages. Herald publishes them again later, so nothing is lost.
type Bounds struct {
	Length int           // messages; 0: unlimited
	TTL    time.Duration // lifetime of a message; 0: unlimited
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

// queue is a durable queue, bound to [Exchange] by its name.
type queue struct {
	name string
	args amqp.Table
	// otherBounds accepts an existing queue with other limits. Consumers declare it too, and a
	// queue's limits cannot change.
	otherBounds bool
}

// topology holds the queues that Herald publishes to: the fixed queues, and the queues of added
// user types, once Herald needs them.
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

// addTypes adds the queues of user types that an installation added.
func (t *topology) addTypes(types []notification.UserTypeRow) (added bool) {
	for _, row := range types {
		if audience := row.EventAudience(); notification.IsAudience(audience) {
			added = t.addEvents(audience) || added
		}
		if notification.IsAudience(row.Audience) {
			added = t.addWebSocket(row.Audience) || added
		}
	}
	return added
}

// addEvents adds the queue of an audience's domain messages.
func (t *topology) addEvents(audience string) (added bool) {
	return t.add(queue{EventQueue(audience), t.bounds.args(), true})
}

// addWebSocket adds the queue of an audience's websocket messages. A gateway may have declared it
// earlier.
func (t *topology) addWebSocket(audience string) (added bool) {
	return t.add(queue{WebSocketQueue(audience), webSocketArgs(), true})
}

// add adds a queue that the topology lacks. The next declaration creates it.
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

// routed reports whether the topology has a queue for a routing key.
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

// declare creates the missing exchange, queues and bindings, and changes nothing that exists. It
// uses a separate channel, because the broker closes a channel after a failed declaration.
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

// hasOtherBounds reports whether a declaration was refused only because the queue exists with
// another length or TTL.
func hasOtherBounds(err error) bool {
	return isRefusal(err, amqp.PreconditionFailed) &&
		slices.ContainsFunc([]string{amqp.QueueMaxLenArg, amqp.QueueOverflowArg, amqp.QueueMessageTTLArg}, func(arg string) bool {
			return strings.Contains(err.Error(), "'"+arg+"'")
		})
}

// explain tells an operator how to fix a refused declaration.
func explain(kind, name string, err error) error {
	if isRefusal(err, amqp.PreconditionFailed) {
		return fmt.Errorf("%s %s exists with other settings than Herald's: empty it, delete it "+
			"(rabbitmqctl delete_queue, or the management page), and Herald will create it anew: %w", kind, name, err)
	}
	return fmt.Errorf("declare %s %s: %w", kind, name, err)
}
