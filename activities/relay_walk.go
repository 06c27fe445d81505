package activities

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// relayWalker walks once through the pending rows, from the oldest on.
type relayWalker struct {
	*Relay
	recorder notification.Recorder
	slots    map[int]bool
	stopped  func() bool

	held     map[string]bool // keys whose rows wait for an earlier one
	suspects []refusedRow    // refused, while nothing was acknowledged yet
	due      time.Time       // when a refused row is tried again, at the earliest; zero: none is
	sent     int
	failed   int
	cut      bool // the walk ended before the last row

	marks chan error // the end of marking the page before; nil: that has ended
}

// refusedRow is a row that its topic has refused.
type refusedRow struct {
	relayRow
	why *notification.SinkRefusedError
}

// walk sends page after page, and reads the next one meanwhile. It ends early where rows
// before those that it is at can be sent by now.
func (w *relayWalker) walk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	if err := w.mark(ctx, relayed{}); err != nil {
		return err
	}
	snapshot, err := w.Table.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snapshot.Close(context.WithoutCancel(ctx))
	until := time.Now().Add(relayWalk)
	page, err := w.read(ctx, snapshot, "")
	for err == nil {
		next := w.readAhead(ctx, snapshot, page.cursor)
		err = w.send(ctx, page)
		ahead := <-next
		if err != nil || page.cursor == "" {
			break
		}
		if w.cut = w.stopped() || w.isDue() || w.failed > 0 || w.sent > 0 && time.Now().After(until) || len(w.suspects) >= notification.MaxOpenRows; w.cut {
			break
		}
		page, err = ahead.page, ahead.err
	}
	if err = errors.Join(err, w.awaitMarks()); err != nil {
		return err
	}
	return w.judge(ctx)
}

// isDue says whether a row that was refused is to be tried again.
func (w *relayWalker) isDue() bool { return !w.due.IsZero() && time.Now().After(w.due) }

// pageAhead is a page that was read while the one before it was sent.
type pageAhead struct {
	page relayPage
	err  error
}

func (w *relayWalker) readAhead(ctx context.Context, snapshot RelaySnapshot, cursor string) <-chan pageAhead {
	ahead := make(chan pageAhead, 1)
	if cursor == "" {
		ahead <- pageAhead{}
		return ahead
	}
	go func() {
		page, err := w.read(ctx, snapshot, cursor)
		ahead <- pageAhead{page, err}
	}()
	return ahead
}

// send sends the rows of a page whose keys are not held. Those that their topics have are
// marked while the next page is sent, and before the one behind that is.
func (w *relayWalker) send(ctx context.Context, page relayPage) error {
	if err := w.settle(ctx, page); err != nil {
		return err
	}
	rows, refused := w.free(page.rows)
	errs := make([]error, len(rows))
	if len(rows) > 0 {
		errs = w.Topics.ProduceAll(ctx, recordsOf(rows))
	}
	var done relayed
	var unavailable error
	timer := ofSource(ctx, w.Source.Name).Timer(CommitToTopicMetric)
	for i, err := range errs {
		var why *notification.SinkRefusedError
		switch {
		case err == nil:
			done.add(rows[i])
			timer.Record(max(0, time.Since(rows[i].CreatedAt)))
		case errors.As(err, &why):
			refused = append(refused, refusedRow{rows[i], why})
		case !errors.Is(err, notification.ErrKeyHeld):
			unavailable = err
		}
		if err != nil {
			w.hold(rows[i])
		}
	}
	w.sent += len(done.keys)
	if err := w.awaitMarks(); err == nil && unavailable == nil && len(refused) == 0 {
		w.marks = make(chan error, 1)
		go func() { w.marks <- w.mark(ctx, done) }()
		return nil
	}
	if err := w.mark(ctx, done); err != nil { // with those of the page before, if they could not be
		return err
	}
	if err := w.refuse(ctx, refused); err != nil {
		return err
	}
	return unavailable
}

// awaitMarks waits until the page before is marked. Rows that could not be are marked with
// the next ones.
func (w *relayWalker) awaitMarks() error {
	if w.marks == nil {
		return nil
	}
	err := <-w.marks
	w.marks = nil
	return err
}

// free are the rows that are to be sent now, and those of which there can be no record.
func (w *relayWalker) free(all []relayRow) (rows []relayRow, refused []refusedRow) {
	for _, row := range all {
		var why *notification.SinkRefusedError
		switch {
		case w.held[string(row.record.Key)]:
		case row.hold:
			w.hold(row)
			w.dueIn(row.wait)
		case errors.As(row.err, &why):
			w.hold(row)
			refused = append(refused, refusedRow{row, why})
		default:
			rows = append(rows, row)
		}
	}
	return rows, refused
}

// hold has the later rows of a row's key wait. Those without a key have no order.
func (w *relayWalker) hold(row relayRow) {
	if key := string(row.record.Key); key != "" {
		w.held[key] = true
	}
}

// dueIn notes that a row is tried again after a delay. 0: it is not known when.
func (w *relayWalker) dueIn(delay time.Duration) {
	if at := time.Now().Add(delay); delay > 0 && (w.due.IsZero() || at.Before(w.due)) {
		w.due = at
	}
}

func recordsOf(rows []relayRow) []notification.Record {
	records := make([]notification.Record, len(rows))
	for i, row := range rows {
		records[i] = row.record
	}
	return records
}
