// Package outboxes moves rows out of outboxes: Herald's own and those of other services.
// Each source has one walk. It adopts a page of pending rows as events, produces it to
// Kafka, and marks it in its own table, in that order.
package outboxes

import (
	"strings"
	"time"

	"herald/internal/notification"
)

// Dialect is the form of an outbox that is not Herald's.
type Dialect string

// The dialects, named after the services that they were first built for.
const (
	OrderService Dialect = "order-service"
	WalletHub    Dialect = "wallet-hub"
)

// Dialects returns all dialects.
func Dialects() []Dialect { return []Dialect{OrderService, WalletHub} }

// dialectTable has one row for each dialect.
var dialectTable = map[Dialect]dialectRow{
	OrderService: {ownIDs: true, hasAggregate: true},
	WalletHub:    {},
}

type dialectRow struct {
	ownIDs       bool // its ids are unique everywhere, so they are event ids as they are
	hasAggregate bool // its table says what an event is about
}

// HasAggregate reports whether a table says what its events are about. Where it does not,
// [Source.Aggregate] may.
func (d Dialect) HasAggregate() bool { return dialectTable[d].hasAggregate }

// Slots is the number of parts that the keys of a source fall into. Each part belongs to
// one poller at a time, so a source has 16 pollers at most.
const Slots = 16

// RetryForever is the [Source.Retries] of a source that gives no row up.
const RetryForever = -1

// Source is an entry of the file that OUTBOX_SOURCES names. The entry for
// [notification.HeraldSource] has no dialect, database or table: they are Herald's own.
type Source struct {
	Name        string // as in workflow ids and metrics: [a-z0-9-]{1,30}
	Dialect     Dialect
	DatabaseURL string         // secret
	Table       string         // schema.table
	Zone        *time.Location // of its timestamps without a zone

	PollInterval time.Duration
	BatchSize    int // rows of a page
	Pollers      int

	Kafka         *KafkaRoute   // nil: its rows go to no topic
	Retries       int           // after the first attempt; RetryForever: no end
	RetryInterval time.Duration // before the first retry; it doubles

	People    bool          // told by the rules, and published to RabbitMQ
	Aggregate *Aggregate    // for a table that has none of its own; nil: none
	Retention time.Duration // of rows that are done; 0: they are kept
}

// IsHerald reports whether the source is Herald's own outbox.
func (s Source) IsHerald() bool { return s.Name == notification.HeraldSource }

// Aggregate is the aggregate of events whose table has no columns for it.
type Aggregate struct {
	Type   string
	IDPath string // of the id in the payload, as in event_type_recipients
}

// Key names a row of an outbox.
type Key struct {
	Key    string // its primary key, as text
	Cursor string // a page begins behind it; opaque
}

// Row is a row of an outbox, as topics and Herald's own table get it.
type Row struct {
	Key           string // its primary key, as text
	Cursor        string // a page begins behind it; opaque
	EventType     string
	AggregateType string // empty: none
	AggregateID   string // empty: none
	CorrelationID string // empty: none
	Payload       []byte // byte for byte; nil: null
	CreatedAt     *time.Time
}

// EventID is the id of the event whose row has this key.
func (s Source) EventID(key string) string {
	if s.IsHerald() || dialectTable[s.Dialect].ownIDs {
		return key
	}
	return s.Name + "-" + key // an id that is unique in its table alone
}

// aggregateOf reads the aggregate of a row from its payload where the table has none.
func (s Source) aggregateOf(row Row) (aggregateType, id string) {
	if row.AggregateType != "" || s.Aggregate == nil {
		return row.AggregateType, row.AggregateID
	}
	return s.Aggregate.Type, notification.IDAt(row.Payload, s.Aggregate.IDPath)
}

// keyOf is the row key of an event id.
func (s Source) keyOf(eventID string) string {
	if s.IsHerald() || dialectTable[s.Dialect].ownIDs {
		return eventID
	}
	return strings.TrimPrefix(eventID, s.Name+"-")
}
