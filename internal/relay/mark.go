package relay

import (
	"context"
	"errors"
	"time"
)

const (
	// The wait before another attempt to mark a row equals the time since it was sent, within
	// these limits.
	firstRemark, maxRemark = 5 * time.Second, 5 * time.Minute
)

// mark marks rows as sent, together with rows that this process could not mark before. First it
// stores a row that waited for its topic as sent, so that the row releases its key.
func (w *Mover) mark(ctx context.Context, more []pageRow) error {
	w.marking.Lock()
	defer w.marking.Unlock()
	w.unmarked = append(w.unmarked, more...)
	if len(w.unmarked) == 0 {
		return nil
	}
	var known []KnownRow
	for _, row := range w.unmarked {
		if row.known {
			kept := row.KnownRow
			kept.Sent, kept.Wait = true, 0
			known = append(known, kept)
		}
	}
	if err := w.keep(ctx, known); err != nil {
		return err
	}
	unmarkable := map[string]error{}
	err := w.Table.MarkSent(ctx, rowKeys(w.unmarked))
	if errors.As(err, new(*UnmarkableError)) {
		unmarkable, err = w.Table.MarkEachSent(ctx, rowKeys(w.unmarked))
	}
	if err != nil {
		return err
	}
	if err := w.keepMarks(ctx, w.unmarked, unmarkable); err != nil {
		return err
	}
	w.unmarked = nil
	return nil
}

func rowKeys(rows []pageRow) []string {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Row.Key
	}
	return keys
}

// keepMarks stores the rows that cannot be marked, and forgets finished rows. It keeps rows that notified
// nobody.
func (w *Mover) keepMarks(ctx context.Context, rows []pageRow, unmarkable map[string]error) error {
	var kept []KnownRow
	var forgotten []string
	for _, row := range rows {
		known, why := row.KnownRow, unmarkable[row.Row.Key]
		known.Sent, known.Wait = true, 0
		switch {
		case why != nil:
			known.Wait, known.Error = min(max(row.SentFor, firstRemark), maxRemark), why.Error()
			kept = append(kept, known)
		case row.known && row.PeopleError != "":
			known.Marked = true
			kept = append(kept, known)
		case row.known:
			forgotten = append(forgotten, known.Key)
		}
	}
	if err := w.keep(ctx, kept); err != nil || len(forgotten) == 0 {
		return err
	}
	return w.Memory.ForgetRows(ctx, w.Source.Name, forgotten)
}

func (w *Mover) keep(ctx context.Context, rows []KnownRow) error {
	if len(rows) == 0 {
		return nil
	}
	return w.Memory.KeepRows(ctx, w.Source.Name, rows)
}

// awaitMarks waits until the previous page is marked. Unmarked rows are marked with the next
// page.
func (p *poll) awaitMarks() error {
	if p.marks == nil {
		return nil
	}
	err := <-p.marks
	p.marks = nil
	return err
}

// settle retries the missing marks of a page, row by row.
func (p *poll) settle(ctx context.Context, page page) error {
	var sent []pageRow
	for _, row := range page.rows {
		switch row.step(p.Table.MarksFailed()) {
		case markSent:
			sent = append(sent, row)
		case markFailed:
			if err := p.markFailed(ctx, row.KnownRow); err != nil {
				return err
			}
		}
	}
	if len(sent) == 0 {
		return nil
	}
	unmarkable, err := p.Table.MarkEachSent(ctx, rowKeys(sent))
	if err != nil {
		return err
	}
	return p.keepMarks(ctx, sent, unmarkable)
}

// markFailed marks a row as failed in its own table, and stores that mark. If the table refuses
// the mark, a later scan retries.
func (p *poll) markFailed(ctx context.Context, row KnownRow) error {
	if !p.Table.MarksFailed() {
		return nil
	}
	err := p.Table.MarkFailed(ctx, row.Key, row.Error)
	switch {
	case errors.As(err, new(*UnmarkableError)):
		p.Log.Warn("row cannot be marked as failed", "event_id", row.EventID, "source", p.Source.Name, "error", p.Unquoted(err))
		row.Wait = firstRemark
		p.dueIn(row.Wait)
	case err != nil:
		return err
	default:
		row.Marked = true
	}
	return p.keep(ctx, []KnownRow{row})
}
