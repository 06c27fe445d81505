package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Mover moves the rows of one outbox. The pollers of a process share it.
type Mover struct {
	Source Source
	Table  Table
	Memory Memory
	Topics Topics // nil: the source has neither a topic nor a webhook
	// Adopted is called after rows were adopted as events. It may be nil.
	Adopted func()

	marking  sync.Mutex
	unmarked []pageRow // sent but not marked; nothing else is sent until they are marked
}

// Table is an outbox in its own database.
type Table interface {
	// Own takes up to share of the free [Slots]. The caller holds them until release, or until
	// the returned context ends.
	Own(ctx context.Context, share int) (owned context.Context, slots map[int]bool, release func(), err error)
	Snapshot(ctx context.Context) (Snapshot, error)
	// MarkSent marks rows in one statement. The error is an [UnmarkableError] if single rows
	// caused it.
	MarkSent(ctx context.Context, keys []string) error
	// MarkEachSent marks rows one by one. It returns the rows that cannot be marked, with the
	// reasons.
	MarkEachSent(ctx context.Context, keys []string) (unmarkable map[string]error, err error)
	// MarksFailed reports whether a failed row leaves the pending rows of its table.
	MarksFailed() bool
	MarkFailed(ctx context.Context, key, message string) error
	// StillPending returns the keys whose rows are pending.
	StillPending(ctx context.Context, keys []string) ([]string, error)
}

// Snapshot is a table at one moment.
type Snapshot interface {
	// Page reads pending rows after a cursor, in order: up to limit, and within a memory limit.
	// next is the cursor after them; empty: no more rows.
	Page(ctx context.Context, after string, limit int) (rows []Row, next string, err error)
	Close(ctx context.Context)
}

// UnmarkableError means that a row's table refused the mark, or that another session holds the
// row lock.
type UnmarkableError struct {
	Err error // contains no values of the row
}

func (e *UnmarkableError) Error() string {
	return "the row cannot be marked in its own table: " + e.Err.Error()
}
func (e *UnmarkableError) Unwrap() error { return e.Err }

// Topics accepts records. Each error belongs to one record: an [UnavailableError], a
// [RefusedError] or [ErrKeyHeld]. A nil error means that the topic has acknowledged the record.
type Topics interface {
	ProduceAll(ctx context.Context, records []Record) []error
	Ready(ctx context.Context) error
}

const (
	// lookTime limits the age of a snapshot: old snapshots burden the service's database.
	lookTime = 5 * time.Second
	// scanTimeout limits a scan if a server does not answer.
	scanTimeout = lookTime + time.Minute
	// goneInterval is the time between two runs of forgetGone.
	goneInterval = 10 * time.Second
)

// lane is a position in the table and its progress. The package's Overview explains the front and
// the back.
type lane struct {
	From     string          // the next scan begins after this cursor; empty: at the first row
	Sweeping bool            // the lane began at the first row and has not reached the last row
	Passed   int             // rows that this sweep left pending
	Open     map[string]bool // topics that back off, which this sweep tries again
	began    time.Time       // start of the sweep
}

// scanEnd is the result of a scan.
type scanEnd struct {
	sent, failed int
	passed       int
	cut          bool // there are more rows
}

// scan reads pages of the front, or one page of the back, and sends the due rows. While it
// produces one page, it reads and adopts the next.
func (p *poll) scan(ctx context.Context, l *lane) (end scanEnd, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
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
		if err != nil || !end.cut || sent.again || l == &p.Back || p.Stopped() || p.isDue(l) || time.Now().After(until) {
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

// nextStart returns where the lane's next scan begins. start is the cursor before this scan's
// last page, and next is the cursor after it.
func (p *poll) nextStart(l *lane, start, next string, again bool, end scanEnd) string {
	switch {
	case l == &p.Back && again:
		return start
	case l == &p.Back:
		return next
	case end.passed > p.Source.BatchSize:
		return start
	default:
		return l.From // it passed over few rows, so it reads them again
	}
}

// pageAhead is a page that was read while the previous page was sent.
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

// beginSweep makes a lane retry the topics whose back-off has ended.
func (p *poll) beginSweep(l *lane) {
	*l = lane{Sweeping: true, began: time.Now(), Open: p.backOffs.over(time.Now())}
	p.due = p.backOffs.next()
}

// endSweep ends the back-off of topics that accepted all rows of a sweep, and forgets deleted rows. At this
// point, the back has sent all rows that the front left to it, in order.
func (p *poll) endSweep(ctx context.Context, l *lane) error {
	if len(l.Open) > 0 {
		if err := p.Memory.EndBackOffs(ctx, p.Source.Name, slices.Collect(maps.Keys(l.Open))); err != nil {
			return err
		}
		p.backOffs.end(l.Open)
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

// forgetGone forgets waiting rows that are no longer pending, because their service deleted or
// marked them. Otherwise they would hold their keys forever.
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
	p.Front = lane{} // the forgotten rows may have held rows before the front
	return p.Memory.ForgetRows(ctx, p.Source.Name, slices.Collect(maps.Keys(gone)))
}

// UnavailableError means that no broker judged the record: none is reachable, or the partition
// has no leader.
type UnavailableError struct {
	Err error // contains no address, key or value
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the destination cannot be reached, or is not ready: %v", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrKeyHeld means that a record was not produced, because an earlier record of its key or flush
// was not acknowledged.
var ErrKeyHeld = errors.New("an earlier record was not acknowledged")

// RefusedError means that a broker refused a record, or that the row's form is invalid.
type RefusedError struct {
	Topic   string // empty: the row leads to no topic
	Code    string // the broker's code, such as MESSAGE_TOO_LARGE
	Verdict Verdict
}

// Verdict tells what a refusal means for the next attempt.
type Verdict string

const (
	RetryRecord  Verdict = "retry" // the refusal counts, and the record is retried
	FailRecord   Verdict = "fail"  // the record will never be accepted
	BackOffTopic Verdict = "rest"  // the topic is at fault: it is missing, or Herald may not write to it
)

func (e *RefusedError) Error() string {
	if e.Topic == "" {
		return "the record was refused: " + e.Code
	}
	return fmt.Sprintf("the topic %q refused the record: %s", e.Topic, e.Code)
}
