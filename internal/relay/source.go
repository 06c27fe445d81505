package relay

import (
	"maps"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// Dialect is the form of another service's outbox.
type Dialect string

// The dialects, named after the first services that used them.
const (
	OrderService Dialect = "order-service"
	WalletHub    Dialect = "wallet-hub"
)

// Dialects returns every dialect, by name.
func Dialects() []Dialect { return slices.Sorted(maps.Keys(dialectTable)) }

// dialectTable has one row for each dialect. Package dialects has its statements.
var dialectTable = map[Dialect]dialectRow{
	OrderService: {ownIDs: true, hasAggregate: true},
	WalletHub:    {},
}

type dialectRow struct {
	ownIDs       bool // its ids are globally unique, so they serve as event ids
	hasAggregate bool // its table has aggregate columns
}

// HasAggregate reports whether the table has aggregate columns. Without them, [Source.Aggregate]
// may define the aggregate.
func (d Dialect) HasAggregate() bool { return dialectTable[d].hasAggregate }

// Slots is the number of parts of a source's keys. Each part belongs to one poller at a time, so
// a source has at most 16 pollers.
const Slots = 16

// RetryForever is the [Source.Retries] of a source that never gives up a row.
const RetryForever = -1

// Source is an entry of the file in OUTBOX_SOURCES. The entry for [notification.HeraldSource] has
// no dialect, database or table, because Herald uses its own.
type Source struct {
	Name        string // used in workflow ids and metrics: [a-z0-9-]{1,30}
	Dialect     Dialect
	DatabaseURL string         // secret
	Table       string         // schema.table
	Zone        *time.Location // for timestamps without a zone

	PollInterval time.Duration
	BatchSize    int // rows per page
	Pollers      int

	Kafka         *KafkaRoute   // nil: its rows go to no topic
	Webhook       bool          // its rows go to the webhook in LIFECYCLE_WEBHOOK_URL
	Retries       int           // after the first attempt; RetryForever: no limit
	RetryInterval time.Duration // before the first retry; doubles each time

	People    bool          // people are notified by the rules, and events are published to RabbitMQ
	Aggregate *Aggregate    // for a table without aggregate columns; nil: none
	Retention time.Duration // of finished rows; 0: forever
}

// IsHerald reports whether the source is Herald's own outbox.
func (s Source) IsHerald() bool { return s.Name == notification.HeraldSource }

// HasDestination reports whether the source's rows go to a topic or a webhook.
func (s Source) HasDestination() bool { return s.Kafka != nil || s.Webhook }

// Aggregate defines the aggregate of events whose table has no columns for it.
type Aggregate struct {
	Type   string
	IDPath string // path of the id in the payload, as in event_type_recipients
}

// TopicCopies counts the brokers that hold a topic, in the partition with the fewest brokers.
type TopicCopies struct {
	Replicas  int
	InSync    int
	MinInSync int    // the topic takes no record while fewer replicas are in sync; 0: unknown
	Refused   string // why MinInSync is unknown
}

// Key names a row of an outbox.
type Key struct {
	Key    string // its primary key, as text
	Cursor string // a page begins after it; opaque
}

// Row is an outbox row in the form for topics and for Herald's table.
type Row struct {
	Key           string // its primary key, as text
	Cursor        string // a page begins after it; opaque
	EventType     string
	AggregateType string // empty: none
	AggregateID   string // empty: none
	CorrelationID string // empty: none
	Traceparent   string // only Herald's own table has it; empty: none
	Payload       []byte // exact bytes; nil: null
	CreatedAt     *time.Time
}

// EventID returns the event id for a row's key.
func (s Source) EventID(key string) string {
	if s.IsHerald() || dialectTable[s.Dialect].ownIDs {
		return key
	}
	return s.Name + "-" + key // the key is unique only in its table
}

// aggregateOf returns a row's aggregate. If the table has none, it reads the aggregate from the
// payload.
func (s Source) aggregateOf(row Row) (aggregateType, id string) {
	if row.AggregateType != "" || s.Aggregate == nil {
		return row.AggregateType, row.AggregateID
	}
	return s.Aggregate.Type, notification.IDAt(row.Payload, s.Aggregate.IDPath)
}

// keyOf returns the row key of an event id.
func (s Source) keyOf(eventID string) string {
	if s.IsHerald() || dialectTable[s.Dialect].ownIDs {
		return eventID
	}
	return strings.TrimPrefix(eventID, s.Name+"-")
}
