package activities

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// Source is an outbox, and where its events are published.
type Source struct {
	Outbox    Outbox
	Sinks     []Sink        // where the message of each event is published
	Interval  time.Duration // between two looks at an outbox that sends no hints
	BatchSize int           // events claimed at once

	Config notification.SourceConfig // where its events come from and go to; the zero value: Herald's own, without a topic
	Table  SourceTable               // its own table; nil: event_outbox
	Topics Topics                    // nil: its events go to no topic
	Relay  *Relay                    // nil: each row has a workflow, which Outbox starts
}

// Topics take the records of events. A nil error means that all replicas have one. The
// error is a [notification.SinkUnavailableError] where the record was not judged, and a
// [notification.SinkRefusedError] where it was refused.
type Topics interface {
	Produce(ctx context.Context, record notification.Record) error
}

// SourceTable is the table of an outbox that is not Herald's.
type SourceTable interface {
	// Pending reads the keys of up to limit pending rows, behind the one with a cursor.
	Pending(ctx context.Context, after string, limit int) ([]notification.SourceKey, error)
	// Rows reads rows in the order of their table, without those that are gone.
	Rows(ctx context.Context, keys []string) ([]notification.SourceRow, error)
	MarkSent(ctx context.Context, keys []string) error
	// MarkFailed does nothing where the table has no word for it.
	MarkFailed(ctx context.Context, keys []string, message string) error
	// Reopen makes failed rows pending again, where the table has a word for them.
	Reopen(ctx context.Context, keys []string) error
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

// Sink takes the messages of events. A nil error means that it has the message.
type Sink interface {
	PublishEvent(ctx context.Context, event notification.Event, audiences []string) error
}

// unknownSourceRetry gives another worker time to take what this one cannot do.
const unknownSourceRetry = 5 * time.Second

// source finds a source by its name, which is empty in the histories of those who
// knew only [notification.HeraldSource]. A name that this worker was not told of is
// tried again, for ever: while settings roll out, another worker knows it, or will.
func (a *Activities) source(name string) (Source, error) {
	source, known := a.Sources[cmp.Or(name, notification.HeraldSource)]
	if !known {
		return Source{}, temporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("this worker has no outbox source named %q: see its OUTBOX_SOURCES and KAFKA_BROKERS", name), UnknownSource,
			temporal.ApplicationErrorOptions{NextRetryDelay: unknownSourceRetry, Category: temporal.ApplicationErrorCategoryBenign})
	}
	return source, nil
}
