package relay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is Herald's database: the events of adopted rows, and the rows and topics that the walk
// remembers.
type Memory interface {
	// BeginOwnOutbox stores where the walk through Herald's own outbox begins. A repeat changes
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

	RestingTopics(ctx context.Context, source string) ([]RestingTopic, error)
	// RestTopic stores a poller's next attempt at a topic. The latest attempt of all pollers counts.
	RestTopic(ctx context.Context, source string, topic RestingTopic) error
	// WakeTopics ends rests, except rests whose next attempt is in the future: another poller's rows
	// wait for that attempt.
	WakeTopics(ctx context.Context, source string, topics []string) error
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

// RestingTopic is a topic that accepts no records.
type RestingTopic struct {
	Topic string
	Wait  time.Duration // until the next attempt
	Since time.Duration // time since the rest began
	Error string
}

const (
	// A topic's rest doubles each time.
	firstRest, maxRest = 5 * time.Second, 5 * time.Minute
	// maxRests limits the topics that one poller remembers.
	maxRests = 10_000
)

// rests holds the resting topics of a source, as one poller knows them.
type rests struct {
	mu     sync.Mutex
	topics map[string]rest
}

type rest struct {
	until time.Time
	wait  time.Duration
}

// newRests adds the topics in before, which rested for this poller earlier. Another poller may have
// ended their rest, but only for its own slots.
func newRests(topics []RestingTopic, before []string) *rests {
	r := &rests{topics: map[string]rest{}}
	for _, topic := range before {
		r.topics[topic] = rest{time.Now(), firstRest}
	}
	for _, topic := range topics {
		r.topics[topic.Topic] = rest{time.Now().Add(topic.Wait), min(max(topic.Since, firstRest), maxRest)}
	}
	return r
}

func (r *rests) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.topics))
}

func (r *rests) has(topic string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, resting := r.topics[topic]
	return resting
}

// after returns the length of a topic's next rest: twice the last rest.
func (r *rests) after(topic string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(max(2*r.topics[topic].wait, firstRest), maxRest)
}

// begin starts a topic's rest.
func (r *rests) begin(topic string, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.topics[topic]; known || len(r.topics) < maxRests {
		r.topics[topic] = rest{time.Now().Add(wait), wait}
	}
}

// over returns the topics whose rest has ended.
func (r *rests) over(now time.Time) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := map[string]bool{}
	for topic, rest := range r.topics {
		if now.After(rest.until) {
			over[topic] = true
		}
	}
	return over
}

// next returns when the next rest ends; zero: no topic rests.
func (r *rests) next() (next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rest := range r.topics {
		if now := time.Now(); rest.until.After(now) && (next.IsZero() || rest.until.Before(next)) {
			next = rest.until
		}
	}
	return next
}

func (r *rests) end(topics map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for topic := range topics {
		delete(r.topics, topic)
	}
}
