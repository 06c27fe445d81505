package outboxes

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is Herald's own database: the events that rows become, and the few rows and topics
// that the walk has to remember.
type Memory interface {
	// BeginSource notes where the walk through Herald's own outbox begins, and closes what an
	// earlier release left of a source that tells no people.
	BeginSource(ctx context.Context, source Source) error
	// TakePosition returns the position that the last owner of exactly these slots kept; nil:
	// none did, or one of the slots had another owner since. From now on owner may keep one.
	TakePosition(ctx context.Context, source string, slots []int, owner string) ([]byte, error)
	// KeepPosition keeps a position, unless a slot of owner's has another owner by now.
	KeepPosition(ctx context.Context, source, owner string, position []byte) error
	// Adopt inserts events that are new. It returns why events cannot tell people, by id.
	Adopt(ctx context.Context, source string, events []AdoptedEvent) (problems map[string]string, err error)
	// Unadopted returns the ids that belong to no event.
	Unadopted(ctx context.Context, ids []string) ([]string, error)

	// KnownRows returns the rows that are kept, by key, and those hashes whose keys a row holds
	// that waits for its topic.
	KnownRows(ctx context.Context, source string, keys []string, hashes []int64) (map[string]KnownRow, map[int64]bool, error)
	KeepRows(ctx context.Context, source string, rows []KnownRow) error
	ForgetRows(ctx context.Context, source string, keys []string) error
	// OverdueRows returns the keys of rows that nobody has tried in time, the oldest first.
	OverdueRows(ctx context.Context, source string, limit int) ([]string, error)

	RestingTopics(ctx context.Context, source string) ([]RestingTopic, error)
	RestTopic(ctx context.Context, source string, topic RestingTopic) error
	WakeTopics(ctx context.Context, source string, topics []string) error
}

// KnownRow is a row of source_row.
type KnownRow struct {
	Key         string
	EventID     string
	KeyHash     int64 // of the record's key; 0: it has none
	Refusals    int
	Wait        time.Duration // until it is tried again; 0: it is due
	Error       string
	PeopleError string // why it tells no people; empty: it does, or its source tells none
	Sent        bool
	Failed      bool
	Marked      bool          // in its own table
	SentFor     time.Duration // since it was sent
}

// RestingTopic is a topic that takes no record.
type RestingTopic struct {
	Topic string
	Wait  time.Duration // until it is asked again
	Since time.Duration // since it rests
	Error string
}

const (
	// A topic's rest doubles.
	firstRest, maxRest = 5 * time.Second, 5 * time.Minute
	// maxRests bounds the topics that one poller remembers.
	maxRests = 10_000
)

// rests are the resting topics of a source, as one poller knows them.
type rests struct {
	mu     sync.Mutex
	topics map[string]rest
}

type rest struct {
	until time.Time
	wait  time.Duration
}

// newRests also has the topics that rested for the poller before: another poller may have
// ended their rest in the meantime, for its own slots.
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

// begin lets a topic rest for twice as long as the last time.
func (r *rests) begin(topic string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.topics[topic]
	wait := min(max(2*before.wait, firstRest), maxRest)
	if known || len(r.topics) < maxRests {
		r.topics[topic] = rest{time.Now().Add(wait), wait}
	}
	return wait
}

// over returns the topics whose rest is over.
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

// next is when the next rest ends; zero: no topic rests.
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
