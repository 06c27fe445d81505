package relay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is Herald's database: the events of adopted rows, and the rows and topics that the relay
// remembers.
type Memory interface {
	// BeginOwnOutbox stores where the relay through Herald's own outbox begins. A repeat changes
	// nothing.
	BeginOwnOutbox(ctx context.Context) error
	// TakePosition returns the position that the last owner of exactly these slots stored. nil:
	// there is none, or a slot had another owner since. After the call, owner may store positions.
	TakePosition(ctx context.Context, source string, slots []int, owner string) ([]byte, error)
	// KeepPosition stores a position, unless one of owner's slots has a new owner.
	KeepPosition(ctx context.Context, source, owner string, position []byte) error
	// Adopt inserts new events. It returns, by event id, why events cannot notify people.
	Adopt(ctx context.Context, source string, events []AdoptedEvent) (problems map[string]string, err error)
	// Unadopted returns the ids without an event.
	Unadopted(ctx context.Context, ids []string) ([]string, error)

	// KnownRows returns the stored rows by key. It also returns the hashes of the keys that waiting
	// rows hold.
	KnownRows(ctx context.Context, source string, keys []string, hashes []int64) (map[string]KnownRow, map[int64]bool, error)
	KeepRows(ctx context.Context, source string, rows []KnownRow) error
	ForgetRows(ctx context.Context, source string, keys []string) error
	// OverdueRows returns the keys of rows that were not retried in time, the oldest first.
	OverdueRows(ctx context.Context, source string, limit int) ([]string, error)

	TopicBackOffs(ctx context.Context, source string) ([]TopicBackOff, error)
	// BackOffTopic stores a poller's next attempt at a topic. The latest attempt of all pollers counts.
	BackOffTopic(ctx context.Context, source string, topic TopicBackOff) error
	// EndBackOffs ends back-offs, except back-offs whose next attempt is in the future: another poller's rows
	// wait for that attempt.
	EndBackOffs(ctx context.Context, source string, topics []string) error
}

// KnownRow is a row of source_row.
type KnownRow struct {
	Key         string
	EventID     string
	KeyHash     int64 // of the record's key; 0: no key
	Refusals    int
	Wait        time.Duration // until the next attempt; 0: due now
	Error       string
	PeopleError string // why the row notifies nobody; empty: it notifies people, or its source never does
	Sent        bool
	Failed      bool
	Marked      bool          // in its own table
	SentFor     time.Duration // time since it was sent
}

// TopicBackOff is a topic that accepts no records.
type TopicBackOff struct {
	Topic string
	Wait  time.Duration // until the next attempt
	Since time.Duration // time since the back-off began
	Error string
}

const (
	// A topic's back-off doubles each time.
	firstBackOff, longestBackOff = 5 * time.Second, 5 * time.Minute
	// maxBackOffs limits the topics that one poller remembers.
	maxBackOffs = 10_000
)

// backOffs holds the topics of a source that accept nothing now, as one poller knows them.
type backOffs struct {
	mu     sync.Mutex
	topics map[string]backOff
}

// backOff is the time in which a topic gets no records.
type backOff struct {
	until time.Time
	wait  time.Duration
}

// newBackOffs adds the topics in before, which this poller left alone earlier. Another poller may have
// ended their back-off, but only for its own slots.
func newBackOffs(topics []TopicBackOff, before []string) *backOffs {
	b := &backOffs{topics: map[string]backOff{}}
	for _, topic := range before {
		b.topics[topic] = backOff{time.Now(), firstBackOff}
	}
	for _, topic := range topics {
		b.topics[topic.Topic] = backOff{time.Now().Add(topic.Wait), min(max(topic.Since, firstBackOff), longestBackOff)}
	}
	return b
}

func (b *backOffs) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.topics))
}

func (b *backOffs) has(topic string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, found := b.topics[topic]
	return found
}

// after returns the length of a topic's next back-off: twice the last one.
func (b *backOffs) after(topic string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(max(2*b.topics[topic].wait, firstBackOff), longestBackOff)
}

// begin starts a topic's back-off.
func (b *backOffs) begin(topic string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.topics[topic]; known || len(b.topics) < maxBackOffs {
		b.topics[topic] = backOff{time.Now().Add(wait), wait}
	}
}

// over returns the topics whose back-off has ended.
func (b *backOffs) over(now time.Time) map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := map[string]bool{}
	for topic, backOff := range b.topics {
		if now.After(backOff.until) {
			over[topic] = true
		}
	}
	return over
}

// next returns when the next back-off ends; zero: there is none.
func (b *backOffs) next() (next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, backOff := range b.topics {
		if now := time.Now(); backOff.until.After(now) && (next.IsZero() || backOff.until.Before(next)) {
			next = backOff.until
		}
	}
	return next
}

func (b *backOffs) end(topics map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for topic := range topics {
		delete(b.topics, topic)
	}
}
