package activities

import (
	"context"
	"fmt"
	"time"

	"herald/internal/notification"
	"herald/internal/relay"
)

// Source is an outbox that pollers poll.
type Source struct {
	Mover     *relay.Mover  // nil: the source is event_outbox without a topic
	Outbox    Outbox        // the events whose workflows the poller starts; nil: the source only has a topic
	Interval  time.Duration // between two reads of Outbox
	BatchSize int           // events claimed at once
}

// Outbox is a table of events whose workflows have to start.
type Outbox interface {
	// ClaimEvents leases up to limit pending events to owner, which is new in each call.
	ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error)
	// EndClaim records the results of the events that owner still leases.
	EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error
	// ListenEvents calls wake at each hint that there are new events, until ctx ends.
	ListenEvents(ctx context.Context, wake func())
}

// unknownSourceRetry is the time until the retry of an activity with an unknown source. Another
// worker may know the source.
const unknownSourceRetry = 5 * time.Second

// sourceNamed finds a source by its name. Temporal retries an unknown name forever: while new settings
// roll out, another worker knows the name, or will know it soon.
func sourceNamed(sources map[string]Source, name string) (Source, error) {
	source, known := sources[name]
	if !known {
		return Source{}, benign(fmt.Sprintf("this worker has no outbox source named %q: see its OUTBOX_SOURCES and KAFKA_BROKERS", name),
			UnknownSource, unknownSourceRetry)
	}
	return source, nil
}
