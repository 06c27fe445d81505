package activities

import (
	"cmp"
	"context"
	"time"

	"herald/internal/notification"
)

// relayPage is pending rows, in the order of their table, by what is to be done about them.
type relayPage struct {
	rows   []relayRow              // of the poller's own slots
	sent   []string                // keys of those that are acknowledged, and not marked
	failed map[string][]pendingRow // that can never be sent, or were cancelled, by the reason
	cursor string                  // of the last row; empty: there are no more
}

// relayRow is a row that is to be sent, or that holds those behind it.
type relayRow struct {
	notification.SourceRow
	eventID string
	cursor  string
	record  notification.Record
	err     error         // there can be no record
	hold    bool          // it is not to be sent now
	wait    time.Duration // for how long; zero: that is not known
	known   bool          // it is an event
	refused bool          // before
	again   bool          // its service has set it back, so it begins again
}

// read reads the next page behind a cursor that has something to do.
func (w *relayWalker) read(ctx context.Context, snapshot RelaySnapshot, after string) (relayPage, error) {
	for size := w.Source.BatchSize; ; size = max(size, keysAtOnce) {
		keys, err := snapshot.Pending(ctx, after, size)
		if err != nil {
			return relayPage{}, err
		}
		page := relayPage{failed: map[string][]pendingRow{}}
		if len(keys) == size {
			page.cursor = keys[size-1].Cursor
		}
		wanted, err := w.sort(ctx, keys, &page)
		if err != nil {
			return page, err
		}
		if len(wanted) > 0 {
			err := w.fill(ctx, snapshot, &page, wanted)
			return page, err
		}
		if after = page.cursor; after == "" || len(page.sent)+len(page.failed) > 0 {
			return page, nil
		}
	}
}

// sort reads what Herald knows of rows, and returns those that are to be read.
func (w *relayWalker) sort(ctx context.Context, keys []notification.SourceKey, page *relayPage) (wanted []relayRow, err error) {
	known, err := w.known(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		id, step := w.Source.RelayStep(key, known)
		event, found := known[id]
		switch step {
		case notification.MarkRow:
			page.sent = append(page.sent, key.Key)
			continue
		case notification.FailRow:
			why := cmp.Or(event.Unfit, event.Cancelled)
			page.failed[why] = append(page.failed[why], pendingRow{key, id})
			continue
		case notification.PassRow:
			continue
		}
		row := relayRow{
			eventID: id, cursor: key.Cursor, hold: step != notification.SendRow, wait: event.Wait,
			known: found, refused: event.Refusals > 0, again: step == notification.BeginRow,
		}
		row.Key = key.Key
		wanted = append(wanted, row)
	}
	return wanted, nil
}

// known reads the events of rows. Few rows are events, so the second id that one may have is
// asked for where the first is known.
func (w *relayWalker) known(ctx context.Context, keys []notification.SourceKey) (map[string]notification.KnownEvent, error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = w.Source.EventID(key.Key)
	}
	known, err := w.Store.KnownEvents(ctx, ids)
	if err != nil || len(known) == 0 {
		return known, err
	}
	ids = nil
	for _, key := range keys {
		if _, found := known[w.Source.EventID(key.Key)]; found {
			ids = append(ids, w.Source.EventIDs(key.Key)...)
		}
	}
	return w.Store.KnownEvents(ctx, ids)
}

// fill reads rows, and adds those to the page that are in slots of this poller's.
func (w *relayWalker) fill(ctx context.Context, snapshot RelaySnapshot, page *relayPage, wanted []relayRow) error {
	keys, places := make([]string, len(wanted)), make(map[string]int, len(wanted))
	for i, row := range wanted {
		keys[i], places[row.Key] = row.Key, i
	}
	rows, err := snapshot.Rows(ctx, keys)
	if err != nil {
		return err
	}
	for _, read := range rows {
		row := wanted[places[read.Key]]
		row.SourceRow = read
		if row.record, row.err = w.recorder.Record(row.eventID, read); w.slots[notification.Slot(row.record, row.eventID)] {
			page.rows = append(page.rows, row)
		}
		if len(rows) < len(wanted) { // that is as much as memory is to hold: the next page begins behind the last
			page.cursor = row.cursor
		}
	}
	return nil
}
