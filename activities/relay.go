package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// Relay sends the rows of a source in [notification.BatchMode]: its poller produces many at
// once, and marks them in one statement. Rows of one key are sent in their order. The
// pollers of one process share one.
type Relay struct {
	Source notification.SourceConfig
	Table  RelayTable
	Store  RelayStore
	Topics RelayTopics

	marking  sync.Mutex
	unmarked relayed // no poller of this process sends anything while there are some
}

// RelayTable is the table of a source in batch mode.
type RelayTable interface {
	// Own takes up to share of the free slots of [notification.Slots] until release. Nobody
	// else has them while the context that it returns has not ended.
	Own(ctx context.Context, share int) (owned context.Context, slots map[int]bool, release func(), err error)
	Snapshot(ctx context.Context) (RelaySnapshot, error)
	MarkSent(ctx context.Context, keys []string) error
	MarkFailed(ctx context.Context, keys []string, message string) error
}

// RelaySnapshot is a table as it is at one moment.
type RelaySnapshot interface {
	// Pending reads the keys of up to limit pending rows, behind the one with a cursor.
	Pending(ctx context.Context, after string, limit int) ([]notification.SourceKey, error)
	// Rows reads rows in the order of their table: the first of them, as many as memory is to hold.
	Rows(ctx context.Context, keys []string) ([]notification.SourceRow, error)
	Close(ctx context.Context)
}

// RelayStore is what a relay needs of Herald's database, where refused rows are events.
type RelayStore interface {
	KnownEvents(ctx context.Context, ids []string) (map[string]notification.KnownEvent, error)
	OpenEvents(ctx context.Context, source string) (int, error)
	AdoptEvents(ctx context.Context, source string, events []notification.AdoptedEvent) (refused map[string]string, err error)
	CountRefusals(ctx context.Context, ids []string) (refusals map[string]int, err error)
	PostponeEvents(ctx context.Context, events []notification.PostponedEvent) error
	FailRelayed(ctx context.Context, eventID, why string) error
	AcknowledgeRelayed(ctx context.Context, ids []string) error
	RetryEvent(ctx context.Context, eventID string) (bool, error)
	RowsFailed(ctx context.Context, ids []string) error
}

// RelayTopics take many records at once. The errors are those of [Topics], and
// [notification.ErrKeyHeld]: behind a record that is not acknowledged, none of its key is.
type RelayTopics interface {
	ProduceAll(ctx context.Context, records []notification.Record) []error
}

const (
	// relayWalk is how long the pages of one snapshot are read: old snapshots cost the
	// service's database.
	relayWalk = 5 * time.Second
	// relayTimeout bounds a walk whose servers do not answer. A page may wait for its
	// broker after relayWalk.
	relayTimeout = relayWalk + time.Minute
	// ownInterval is the time between two looks whether slots are free.
	ownInterval = time.Second
)

// poll sends rows until it is told to stop, and ends the page that it is at.
func (r *Relay) poll(ctx context.Context) PollOutboxResult {
	p := &relayPoll{Relay: r, backoff: firstBackoff}
	for ctx.Err() == nil && !stopping(ctx) {
		p.own(ctx)
	}
	return p.total
}

// relayPoll is the state of one [Relay.poll].
type relayPoll struct {
	*Relay
	backoff time.Duration // after the next failure
	total   PollOutboxResult
}

// own takes this poller's share of the slots, and sends their rows for as long as it has
// them.
func (p *relayPoll) own(ctx context.Context) {
	share := (notification.Slots + p.Source.Pollers - 1) / p.Source.Pollers
	owned, slots, release, err := p.Table.Own(context.WithoutCancel(ctx), share)
	if err != nil {
		p.backOff(ctx, err)
		return
	}
	defer release()
	if len(slots) == 0 { // other pollers have them: too many run, or one that is about to end
		sleep(ctx, jitter(ownInterval), nil)
		return
	}
	for ctx.Err() == nil && !stopping(ctx) && owned.Err() == nil {
		p.step(ctx, owned, slots)
	}
}

// step walks through the pending rows once, then waits for as long as that asks for.
func (p *relayPoll) step(ctx, owned context.Context, slots map[int]bool) {
	w := &relayWalker{
		Relay: p.Relay, recorder: p.Source.Recorder(), slots: slots, held: map[string]bool{},
		stopped: func() bool { return ctx.Err() != nil || stopping(ctx) },
	}
	err := w.walk(owned)
	p.total.Sent += w.sent
	p.total.Failed += w.failed
	if err != nil {
		p.backOff(ctx, err)
		return
	}
	p.backoff = firstBackoff
	switch {
	case w.failed > 0 || w.cut: // there may be more
	case w.sent > 0:
		sleep(ctx, min(alertInterval, p.Source.PollInterval), nil)
	default:
		wait := jitter(p.Source.PollInterval)
		if !w.due.IsZero() {
			wait = min(wait, max(time.Until(w.due), alertInterval))
		}
		sleep(ctx, wait, nil)
	}
}

func (p *relayPoll) backOff(ctx context.Context, err error) {
	activity.GetLogger(ctx).Warn("outbox: backing off", "source", p.Source.Name, "backoff", p.backoff, "error", Unquoted(err))
	sleep(ctx, jitter(p.backoff), nil)
	p.backoff = min(2*p.backoff, maxBackoff)
}

// relayed are rows that their topics have.
type relayed struct {
	keys   []string
	events []string // of those that were refused before
}

func (r *relayed) add(row relayRow) {
	r.keys = append(r.keys, row.Key)
	if row.known {
		r.events = append(r.events, row.eventID)
	}
}

// mark marks rows as sent, with those of this process that could not be marked before. The
// events come first: what is pending in its own table is looked at again.
func (r *Relay) mark(ctx context.Context, more relayed) error {
	r.marking.Lock()
	defer r.marking.Unlock()
	r.unmarked.keys = append(r.unmarked.keys, more.keys...)
	r.unmarked.events = append(r.unmarked.events, more.events...)
	if len(r.unmarked.events) > 0 {
		if err := r.Store.AcknowledgeRelayed(ctx, r.unmarked.events); err != nil {
			return err
		}
		r.unmarked.events = nil
	}
	if len(r.unmarked.keys) > 0 {
		if err := r.Table.MarkSent(ctx, r.unmarked.keys); err != nil {
			return err
		}
		r.unmarked.keys = nil
	}
	return nil
}
