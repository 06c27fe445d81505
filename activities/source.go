package activities

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
	"herald/internal/outboxes"
)

// Source is an outbox that pollers poll.
type Source struct {
	Walk      *outboxes.Walk // nil: it is Herald's own, and goes to no topic
	Outbox    Outbox         // the events whose workflows are started; nil: the source tells no people
	Interval  time.Duration  // between two looks at Outbox
	BatchSize int            // events claimed at once
}

// Outbox is a table of events whose workflows are to be started.
type Outbox interface {
	// ClaimEvents leases up to limit pending events to owner, who is new with each call.
	ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error)
	// EndClaim records what became of the events that owner still leases.
	EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error
	// ListenEvents calls wake at each hint that there are new events, until ctx ends.
	ListenEvents(ctx context.Context, wake func())
}

// unknownSourceRetry gives another worker time to take what this one cannot do.
const unknownSourceRetry = 5 * time.Second

// source finds a source by its name, which is empty in the histories of pollers that knew
// only [notification.HeraldSource]. A name that this worker was not told of is tried again,
// for ever: while settings roll out, another worker knows it, or will.
func (a *Activities) source(name string) (Source, error) {
	source, known := a.Sources[cmp.Or(name, notification.HeraldSource)]
	if !known {
		return Source{}, temporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("this worker has no outbox source named %q: see its OUTBOX_SOURCES and KAFKA_BROKERS", name), UnknownSource,
			temporal.ApplicationErrorOptions{NextRetryDelay: unknownSourceRetry, Category: temporal.ApplicationErrorCategoryBenign})
	}
	return source, nil
}
