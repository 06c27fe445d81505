package outboxes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Walk is the way out of one outbox. The pollers of a process share it.
type Walk struct {
	Source Source
	Table  Table
	Memory Memory
	Topics Topics // nil: the source has no topic
	// Adopted is called after rows were adopted as events; nil: nobody wants to know.
	Adopted func()

	marking  sync.Mutex
	unmarked []pageRow // sent, and not marked yet: nothing more is sent before they are
}

// Table is the outbox in its own database.
type Table interface {
	// Own takes up to share of the free slots of [Slots] until release. Nobody else has
	// them while the context that it returns has not ended.
	Own(ctx context.Context, share int) (owned context.Context, slots map[int]bool, release func(), err error)
	Snapshot(ctx context.Context) (Snapshot, error)
	// MarkSent marks rows by one statement. The error is an [UnmarkableError] where single
	// rows are at fault.
	MarkSent(ctx context.Context, keys []string) error
	// MarkEachSent marks rows one by one, and returns why some cannot be marked.
	MarkEachSent(ctx context.Context, keys []string) (unmarkable map[string]error, err error)
	// MarksFailed reports whether a failed row is no longer pending in its table.
	MarksFailed() bool
	MarkFailed(ctx context.Context, key, message string) error
	// StillPending returns the keys of those rows that are pending.
	StillPending(ctx context.Context, keys []string) ([]string, error)
}

// Snapshot is a table as it is at one moment.
type Snapshot interface {
	// Page reads pending rows behind a cursor, in their order: up to limit, and no more than
	// memory is to hold. next is the cursor behind them; empty: there are no more.
	Page(ctx context.Context, after string, limit int) (rows []Row, next string, err error)
	Close(ctx context.Context)
}

// UnmarkableError means that a row's own table refused its mark, or that somebody holds
// its lock.
type UnmarkableError struct {
	Err error // holds no value
}

func (e *UnmarkableError) Error() string {
	return "the row cannot be marked in its own table: " + e.Err.Error()
}
func (e *UnmarkableError) Unwrap() error { return e.Err }

// Topics take records. Each error is that of one record: an [UnavailableError], a
// [RefusedError] or [ErrKeyHeld]. A nil error means that all replicas have the record.
type Topics interface {
	ProduceAll(ctx context.Context, records []Record) []error
	Ready(ctx context.Context) error
}

const (
	// lookTime bounds how long one snapshot is read: old snapshots cost the service's database.
	lookTime = 5 * time.Second
	// lookTimeout bounds a look whose servers do not answer.
	lookTimeout = lookTime + time.Minute
	// goneInterval is the time between two looks for rows that are gone.
	goneInterval = 10 * time.Second
)

// lane is a place in the table from which rows are read, and how far it has come.
//
// The front begins at the first pending row. Rows that it passes over stay pending, and to
// read them at each look would delay the new rows behind them. So where they fill more than a
// page, the front moves on, and a second lane, the back, sweeps through all rows, a page
// between two looks of the front.
type lane struct {
	From     string          // its next look begins behind this cursor; empty: at the first row
	Sweeping bool            // it began at the first row, and has not come to the last one
	Passed   int             // rows that this sweep left pending
	Open     map[string]bool // resting topics that this sweep asks again
	began    time.Time       // the sweep
}

// lookEnd is how a look ended.
type lookEnd struct {
	sent, failed int
	passed       int
	cut          bool // there are more rows
}

// look reads pages of the front, or one of the back, and sends what is due. It reads a page,
// and adopts it, while the page before is produced.
func (p *poll) look(ctx context.Context, l *lane) (end lookEnd, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := p.mark(ctx, nil); err != nil {
		return end, err
	}
	snapshot, err := p.Table.Snapshot(ctx)
	if err != nil {
		return end, err
	}
	defer snapshot.Close(context.WithoutCancel(ctx))
	if l.From == "" {
		p.beginSweep(l)
	}
	clear(p.held)
	clear(p.freed)
	until, start := time.Now().Add(lookTime), l.From
	page, err := p.prepare(ctx, snapshot, l.From)
	for err == nil {
		ahead := p.prepareAhead(ctx, snapshot, page.next, l == &p.Front)
		var sent pageEnd
		sent, err = p.send(ctx, l, page)
		end.sent, end.failed, end.passed = end.sent+sent.sent, end.failed+sent.failed, end.passed+sent.passed
		next := <-ahead
		end.cut = page.next != "" || sent.again
		if err != nil || !end.cut || sent.again || l == &p.Back || p.stopped() || p.isDue(l) || time.Now().After(until) {
			start = p.nextStart(l, start, page.next, sent.again, end)
			break
		}
		start, page, err = page.next, next.page, next.err
	}
	if markErr := p.awaitMarks(); err == nil {
		err = markErr
	}
	if err != nil {
		return end, err
	}
	l.Passed += end.passed
	l.From = start
	if !end.cut && l.Sweeping {
		err = p.endSweep(ctx, l)
	}
	return end, err
}

// nextStart is where the next look of a lane begins. start is where this look's last page
// began, and next is the cursor behind that page.
func (p *poll) nextStart(l *lane, start, next string, again bool, end lookEnd) string {
	switch {
	case l == &p.Back && again:
		return start
	case l == &p.Back:
		return next
	case end.passed > p.Source.BatchSize:
		return start
	default:
		return l.From // what it passed over is little, and is read again
	}
}

// pageAhead is a page that was read while the page before was sent.
type pageAhead struct {
	page page
	err  error
}

func (p *poll) prepareAhead(ctx context.Context, snapshot Snapshot, cursor string, wanted bool) <-chan pageAhead {
	ahead := make(chan pageAhead, 1)
	if cursor == "" || !wanted {
		ahead <- pageAhead{}
		return ahead
	}
	go func() {
		page, err := p.prepare(ctx, snapshot, cursor)
		ahead <- pageAhead{page, err}
	}()
	return ahead
}

// beginSweep lets a lane ask those topics again whose rest is over.
func (p *poll) beginSweep(l *lane) {
	*l = lane{Sweeping: true, began: time.Now(), Open: p.rests.over(time.Now())}
	p.due = p.rests.next()
}

// endSweep ends the rest of the topics that took all rows of a sweep, and forgets rows that
// are gone. What the front left to the back is sent by now, in its order.
func (p *poll) endSweep(ctx context.Context, l *lane) error {
	if len(l.Open) > 0 {
		if err := p.Memory.WakeTopics(ctx, p.Source.Name, slices.Collect(maps.Keys(l.Open))); err != nil {
			return err
		}
		p.rests.end(l.Open)
	}
	if l == &p.Back {
		clear(p.Released)
		if l.Passed <= p.Source.BatchSize {
			p.Front.From = ""
		}
		l.From = ""
	}
	l.Sweeping, p.sweptAt, p.sweepTook = false, time.Now(), time.Since(l.began)
	return p.forgetGone(ctx)
}

// forgetGone forgets rows that wait for their topic and are no longer pending: their service
// has deleted them, or marked them itself. They would hold back their keys.
func (p *poll) forgetGone(ctx context.Context) error {
	if time.Since(p.checkedAt) < goneInterval {
		return nil
	}
	p.checkedAt = time.Now()
	overdue, err := p.Memory.OverdueRows(ctx, p.Source.Name, p.Source.BatchSize)
	if err != nil || len(overdue) == 0 {
		return err
	}
	pending, err := p.Table.StillPending(ctx, overdue)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, key := range overdue {
		gone[key] = true
	}
	for _, key := range pending {
		delete(gone, key)
	}
	if len(gone) == 0 {
		return nil
	}
	p.Front = lane{} // the rows that they held back may be behind it
	return p.Memory.ForgetRows(ctx, p.Source.Name, slices.Collect(maps.Keys(gone)))
}

// UnavailableError means that no broker judged the record: none can be reached, or the
// partition has no leader.
type UnavailableError struct {
	Err error // holds no address, key or value
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("kafka cannot be reached, or is not ready: %v", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrKeyHeld means that a record was not produced, since an earlier record of its key, or
// of its flush, was not acknowledged.
var ErrKeyHeld = errors.New("an earlier record was not acknowledged")

// RefusedError means that a broker, or the form of the row itself, refused a record.
type RefusedError struct {
	Topic   string // empty: the row leads to none
	Code    string // the broker's own word, such as MESSAGE_TOO_LARGE
	Verdict Verdict
}

// Verdict says what a refusal means for the next attempt.
type Verdict string

// The verdicts.
const (
	RetryRecord Verdict = "retry" // the refusal counts, and the record is tried again
	FailRecord  Verdict = "fail"  // the same record will never be taken
	RestTopic   Verdict = "rest"  // the topic is at fault: it does not exist, or Herald may not write it
)

func (e *RefusedError) Error() string {
	if e.Topic == "" {
		return "the record was refused: " + e.Code
	}
	return fmt.Sprintf("the topic %q refused the record: %s", e.Topic, e.Code)
}
