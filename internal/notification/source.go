package notification

import (
	"strings"
	"time"
)

// Dialect is the form that an outbox has which is not Herald's.
type Dialect string

// The dialects, named after the services that they were first built for.
const (
	OrderService Dialect = "order-service"
	WalletHub    Dialect = "wallet-hub"
)

// Dialects returns them all.
func Dialects() []Dialect { return []Dialect{OrderService, WalletHub} }

// dialectTable has one row for each dialect.
var dialectTable = map[Dialect]dialectRow{
	OrderService: {ownIDs: true, marksFailed: true, hasAggregate: true},
	WalletHub:    {},
}

type dialectRow struct {
	ownIDs      bool // its ids are unique everywhere, so that they are event ids as they are
	marksFailed bool // a row that failed is no longer pending in its own table

	hasAggregate bool // its table says what an event is about
}

// HasAggregate says whether a table says what its events are about. Where it does not,
// [SourceConfig.Aggregate] may.
func (d Dialect) HasAggregate() bool { return dialectTable[d].hasAggregate }

// MarksFailed says whether a row that failed is marked in its own table. A row of such a
// table that is pending although its event has failed was set back by its service.
func (d Dialect) MarksFailed() bool { return dialectTable[d].marksFailed }

// SourceMode is how the rows of a source get to their topic. Empty: each has a workflow.
type SourceMode string

// BatchMode has the poller itself produce the rows, many at once and in the order of their
// keys. Only what a topic refused becomes an event.
const BatchMode SourceMode = "batch"

// Slots are the parts that the keys of a source in [BatchMode] fall into. Each belongs to
// one poller at a time. There may be as many pollers.
const Slots = 16

// RetryForever is the [SourceConfig.Retries] of a source that gives no event up.
const RetryForever = -1

// MaxOpenRows is how many events of a source that is not Herald's are open at once, so
// that a backlog stays in its own table.
const MaxOpenRows = 1000

// SourceConfig is an entry of the file that OUTBOX_SOURCES names. An entry for
// [HeraldSource] has no dialect, database or table, since those are Herald's own.
type SourceConfig struct {
	Name        string // as in workflow ids and metrics: [a-z0-9-]{1,30}
	Dialect     Dialect
	DatabaseURL string         // secret
	Table       string         // schema.table
	Zone        *time.Location // of its timestamps without a zone

	PollInterval time.Duration
	BatchSize    int
	Pollers      int
	Mode         SourceMode

	Kafka         *KafkaRoute   // nil: its events go to no topic
	Retries       int           // after the first attempt; RetryForever: no end
	RetryInterval time.Duration // before the first retry; it doubles

	People    bool             // told by the rules, and published to RabbitMQ
	Aggregate *SourceAggregate // for a table that has none of its own; nil: none
	Retention time.Duration    // of rows that are done; 0: they are kept
}

// SourceAggregate is the aggregate of events whose table has no columns for it.
type SourceAggregate struct {
	Type   string
	IDPath string // of the id in the payload, as in event_type_recipients
}

// SourceKey is a pending row, as much of it as telling new rows from known ones takes.
type SourceKey struct {
	Key    string // its primary key, as text
	Cursor string // the rows after this one are read by it; opaque

	CreatedAt *time.Time // nil: unknown
}

// SourceRow is a row of an outbox, as topics and Herald's own table get it.
type SourceRow struct {
	Key           string // its primary key, as text
	EventType     string
	AggregateType string // empty: none
	AggregateID   string // empty: none
	CorrelationID string // empty: none
	Payload       []byte // byte for byte; nil: null
	CreatedAt     time.Time
}

// EventID is the id of the event whose row has this key.
func (c SourceConfig) EventID(key string) string { return c.idPrefix() + key }

// Key is the key of the row whose event has this id.
func (c SourceConfig) Key(eventID string) string {
	if c.Name == HeraldSource {
		return eventID
	}
	return strings.TrimSuffix(strings.TrimPrefix(eventID, c.idPrefix()), clashMark+c.Name)
}

// idPrefix keeps ids that are unique in their table alone apart from those of others.
func (c SourceConfig) idPrefix() string {
	if c.Name == HeraldSource || dialectTable[c.Dialect].ownIDs {
		return ""
	}
	return c.Name + "-"
}

// aggregateOf reads the aggregate of a row from its payload where the table has none.
func (c SourceConfig) aggregateOf(row SourceRow) (aggregateType, id string) {
	if row.AggregateType != "" || c.Aggregate == nil {
		return row.AggregateType, row.AggregateID
	}
	payload := decodePayload(row.Payload)
	for _, path := range splitPaths(c.Aggregate.IDPath) {
		if id, found := entityID(payload, path); found {
			return c.Aggregate.Type, id
		}
	}
	return c.Aggregate.Type, ""
}
