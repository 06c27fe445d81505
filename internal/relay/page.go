package relay

import (
	"context"
)

// page holds pending rows in the poller's slots, in the order of their table.
type page struct {
	rows []pageRow
	next string         // the next page begins after this cursor; empty: no more rows
	held map[int64]bool // keys held by a waiting row when the page was read
}

// pageRow is a pending row with its stored data.
type pageRow struct {
	Row
	eventID string
	record  Record
	err     error // why the row has no record
	hash    int64 // of the record's key; 0: no key
	known   bool  // it is in source_row
	KnownRow
}

// step is the next action for a row.
type step string

const (
	sendRow     step = "send"
	markSent    step = "mark as sent"
	markFailed  step = "mark as failed"
	beginAgain  step = "begin again" // its service made it pending again
	passRow     step = "pass over"
	passWaiting step = "pass over, and its key waits"
)

// step returns the next action for a row from its stored data.
func (r *pageRow) step(marksFailed bool) step {
	due := r.Wait == 0
	switch {
	case !r.known:
		return sendRow
	case (r.Sent || r.Failed && marksFailed) && r.Marked:
		return beginAgain
	case r.Sent && due:
		return markSent
	case r.Failed && marksFailed && due:
		return markFailed
	case r.Sent, r.Failed:
		return passRow
	case !due:
		return passWaiting
	default:
		return sendRow
	}
}

// prepare reads the next page of a lane and adopts its rows.
func (p *poll) prepare(ctx context.Context, snapshot Snapshot, after string) (page, error) {
	rows, next, err := snapshot.Page(ctx, after, p.Source.BatchSize)
	if err != nil {
		return page{}, err
	}
	page := page{next: next}
	for _, row := range rows {
		r := pageRow{Row: row, eventID: p.Source.EventID(row.Key)}
		if p.recorder != nil {
			r.record, r.err = p.recorder.record(r.eventID, row)
			r.hash = keyHash(r.record)
		}
		if p.slots[slot(r.record, r.eventID)] {
			page.rows = append(page.rows, r)
		}
	}
	if err := p.remember(ctx, &page); err != nil {
		return page, err
	}
	return page, p.adopt(ctx, &page)
}

// remember reads the stored data of a page's rows. First it forgets the rows that begin again.
func (p *poll) remember(ctx context.Context, page *page) error {
	keys, hashes := make([]string, len(page.rows)), []int64{}
	for i, row := range page.rows {
		keys[i] = row.Row.Key
		if row.hash != 0 {
			hashes = append(hashes, row.hash)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	known, held, err := p.Memory.KnownRows(ctx, p.Source.Name, keys, hashes)
	if err != nil {
		return err
	}
	page.held = held
	var again []string
	for i := range page.rows {
		row := &page.rows[i]
		row.KnownRow, row.known = known[row.Row.Key]
		if row.step(p.Table.MarksFailed()) == beginAgain {
			again = append(again, row.Row.Key)
			row.KnownRow, row.known = KnownRow{}, false
			p.Log.Info("a row begins again, because its service made it pending again", "event_id", row.eventID, "source", p.Source.Name)
		}
		row.KnownRow.Key, row.KnownRow.EventID, row.KnownRow.KeyHash = row.Row.Key, row.eventID, row.hash
	}
	if len(again) == 0 {
		return nil
	}
	return p.Memory.ForgetRows(ctx, p.Source.Name, again)
}
