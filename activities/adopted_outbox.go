package activities

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// AdoptedOutbox is the outbox of a source that has a table of its own. Claiming adopts
// new rows first: they are copied into event_outbox, where claims, planning and every
// operator's command find them. Pollers of one process share one.
type AdoptedOutbox struct {
	Source notification.SourceConfig
	Table  SourceTable
	Store  AdoptionStore
	Topics TopicOrders

	walking sync.Mutex // what follows is of whoever walks
	after   string     // the cursor of the last row that was dealt with; empty: the walk has ended
	began   time.Time
	ordered map[string]time.Time // when the workflows of events were told to send them again
}

// TopicOrders tells the workflow of an event that its topic has refused to send it again.
type TopicOrders interface {
	RetryTopic(ctx context.Context, eventID string) error
}

// AdoptionStore is what adopting needs of Herald's database.
type AdoptionStore interface {
	KnownEvents(ctx context.Context, ids []string) (map[string]notification.KnownEvent, error)
	OpenEvents(ctx context.Context, source string) (int, error)
	AdoptEvents(ctx context.Context, source string, events []notification.AdoptedEvent) (refused map[string]string, err error)
	RetryEvent(ctx context.Context, eventID string) (bool, error)
	// RowsFailed records that the rows of cancelled events were marked in their own table.
	RowsFailed(ctx context.Context, ids []string) error
	ClaimEventsOf(ctx context.Context, source, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error)
	EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error
	Acknowledge(ctx context.Context, ids []string) (ages []time.Duration, err error)
}

const (
	// keysAtOnce is how many pending rows are looked at with one statement, at most: as
	// many as are adopted at once, and more where all are known.
	keysAtOnce = 500
	// walkTime is how long one claim looks for new rows, so that its lease leaves time
	// to start them. The next claim goes on from there.
	walkTime = 5 * time.Second
	// longestWalk is how old a walk may become before it begins anew at the oldest row,
	// however far it came: a row that is committed late stands before it.
	longestWalk = time.Minute
	// orderAgain is how long a workflow may take to do as it was told: each order is in its
	// history for ever.
	orderAgain = time.Minute
)

// ClaimEvents adopts new rows, and claims the events of the source. While the table of
// the source is out of reach, it claims what was adopted before.
func (o *AdoptedOutbox) ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error) {
	adoptErr := o.adopt(ctx, limit)
	events, err := o.Store.ClaimEventsOf(ctx, o.Source.Name, owner, limit, lease)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, adoptErr
	}
	return events, nil
}

// EndClaim records what became of events, in event_outbox and where need be in their own
// table. What needs the own table comes last: while that is away, the others end all the
// same, and what failed is claimed again. A failed row is marked before its event: one that
// is pending again after that was set back by its service. Where events go to no topic,
// their start is what their table waits for; a mark that is lost is made by the next walk.
func (o *AdoptedOutbox) EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) error {
	var others, failed []notification.ClaimResult
	var started, keys []string
	for _, result := range results {
		switch result.Outcome {
		case notification.ClaimFailed:
			failed = append(failed, result)
			continue
		case notification.ClaimStarted:
			started, keys = append(started, result.EventID), append(keys, o.Source.Key(result.EventID))
		}
		others = append(others, result)
	}
	if err := o.Store.EndClaim(ctx, owner, others); err != nil {
		return err
	}
	if o.Source.Kafka == nil && len(started) > 0 {
		if _, err := o.Store.Acknowledge(ctx, started); err != nil {
			return err
		}
		if err := o.Table.MarkSent(ctx, keys); err != nil {
			return err
		}
	}
	return o.endFailed(ctx, owner, failed)
}

// endFailed marks the rows of events that cannot be started, and then the events.
func (o *AdoptedOutbox) endFailed(ctx context.Context, owner string, failed []notification.ClaimResult) error {
	if len(failed) == 0 {
		return nil
	}
	for _, result := range failed {
		if err := o.Table.MarkFailed(ctx, []string{o.Source.Key(result.EventID)}, result.Error); err != nil {
			return err
		}
	}
	return o.Store.EndClaim(ctx, owner, failed)
}

// ListenEvents ends with ctx: tables of other services send no hints.
func (o *AdoptedOutbox) ListenEvents(ctx context.Context, _ func()) { <-ctx.Done() }

// adopt walks through the pending rows until it has adopted some, all were seen, or its
// time is over. It begins anew once in an interval. While another poller of the process
// walks, it does nothing.
func (o *AdoptedOutbox) adopt(ctx context.Context, limit int) error {
	if !o.walking.TryLock() {
		return nil
	}
	defer o.walking.Unlock()
	if !o.due() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*walkTime)
	defer cancel()
	until := time.Now().Add(walkTime)
	for size := limit; time.Now().Before(until); size = min(2*size, keysAtOnce) {
		more, err := o.adoptPage(ctx, size, limit)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// due says whether to walk on, and begins a new walk where it is time for one.
func (o *AdoptedOutbox) due() bool {
	age := time.Since(o.began)
	if o.after != "" && age < longestWalk {
		return true
	}
	if age < o.Source.PollInterval {
		return false
	}
	o.after, o.began = "", time.Now()
	return true
}

// adoptPage deals with up to size of the next rows, and says whether the walk is to go on
// at once: there are more, and none of these was new.
func (o *AdoptedOutbox) adoptPage(ctx context.Context, size, limit int) (more bool, err error) {
	keys, err := o.Table.Pending(ctx, o.after, size)
	if err != nil {
		return false, err
	}
	var ids []string
	for _, key := range keys {
		ids = append(ids, o.Source.EventIDs(key.Key)...)
	}
	known, err := o.Store.KnownEvents(ctx, ids)
	if err != nil {
		return false, err
	}
	page := o.sort(keys, known)
	if len(page.again)+len(page.order) > 0 {
		if err := o.confirm(ctx, &page, size); err != nil {
			return false, err
		}
	}
	if err := o.settle(ctx, page); err != nil {
		return false, err
	}
	adopted, err := o.take(ctx, page.fresh, limit)
	if err != nil {
		return false, err
	}
	switch {
	case len(page.fresh) > 0 && adopted == 0: // no more may be open: the next walk finds those that were acknowledged, and then these
		o.after = ""
	case adopted < len(page.fresh):
		o.after = page.fresh[adopted-1].Cursor
	case len(keys) < size:
		o.after = ""
	default:
		o.after = keys[len(keys)-1].Cursor
	}
	return o.after != "" && len(page.fresh) == 0, nil
}

// adoptionPage is rows by what is to be done about them.
type adoptionPage struct {
	fresh  []pendingRow
	sent   []string                // keys
	failed map[string][]pendingRow // by the reason
	again  []pendingRow            // whose events begin again
	order  []pendingRow            // whose workflows are told to send them again
}

// pendingRow is a row of the source's table, and the id that its event has or gets.
type pendingRow struct {
	notification.SourceKey
	eventID string
}

func (o *AdoptedOutbox) sort(keys []notification.SourceKey, known map[string]notification.KnownEvent) adoptionPage {
	page := adoptionPage{failed: map[string][]pendingRow{}}
	for _, key := range keys {
		switch id, step := o.Source.Step(key, known); step {
		case notification.AdoptRow, notification.AdoptClash:
			page.fresh = append(page.fresh, pendingRow{key, id})
		case notification.MarkRow:
			page.sent = append(page.sent, key.Key)
		case notification.FailRow:
			why := cmp.Or(known[id].Unfit, known[id].Cancelled)
			page.failed[why] = append(page.failed[why], pendingRow{key, id})
		case notification.BeginRow:
			page.again = append(page.again, pendingRow{key, id})
		case notification.OrderRow:
			page.order = append(page.order, pendingRow{key, id})
		}
	}
	return page
}

// confirm leaves out rows that are not pending any more. A row fails before its event does: one
// that was read as pending before that was not set back by its service.
func (o *AdoptedOutbox) confirm(ctx context.Context, page *adoptionPage, size int) error {
	keys, err := o.Table.Pending(ctx, o.after, size)
	pending := map[string]bool{}
	for _, key := range keys {
		pending[key.Key] = true
	}
	failed := func(row pendingRow) bool { return !pending[row.Key] }
	page.again, page.order = slices.DeleteFunc(page.again, failed), slices.DeleteFunc(page.order, failed)
	return err
}

// settle does what is to be done about rows that are known.
func (o *AdoptedOutbox) settle(ctx context.Context, page adoptionPage) error {
	if len(page.sent) > 0 {
		if err := o.Table.MarkSent(ctx, page.sent); err != nil {
			return err
		}
	}
	for why, rows := range page.failed {
		if err := o.Store.RowsFailed(ctx, markFailed(ctx, o.Table, o.Source.Name, why, rows)); err != nil {
			return err
		}
	}
	for _, row := range page.again {
		if _, err := o.Store.RetryEvent(ctx, row.eventID); err != nil {
			return err
		}
		activity.GetLogger(ctx).Info("an event begins again, since its service has set its row back", "event_id", row.eventID, "source", o.Source.Name)
	}
	o.orderAll(ctx, page.order)
	return nil
}

// orderAll has events sent to their topic again, whose workflows run. An order that is lost
// is given again by a later walk.
func (o *AdoptedOutbox) orderAll(ctx context.Context, rows []pendingRow) {
	maps.DeleteFunc(o.ordered, func(_ string, at time.Time) bool { return time.Since(at) > orderAgain })
	for _, row := range rows {
		id := row.eventID
		if _, told := o.ordered[id]; told {
			continue
		}
		if err := o.Topics.RetryTopic(ctx, id); err != nil {
			activity.GetLogger(ctx).Warn("an event cannot be sent to its topic again yet", "event_id", id, "source", o.Source.Name, "error", err)
			continue
		}
		if o.ordered == nil {
			o.ordered = map[string]time.Time{}
		}
		o.ordered[id] = time.Now()
	}
}
