package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// refuse decides whom refusals are counted against. Where another row of the walk was
// acknowledged, the topics work, and a refusal is its row's own; so is one that follows
// another. Where none was, the topic or our rights may be at fault: [relayWalker.judge]
// decides at the end of the walk.
func (w *relayWalker) refuse(ctx context.Context, rows []refusedRow) error {
	ofSource(ctx, w.Source.Name).Counter(SinkRefusalsMetric).Inc(int64(len(rows)))
	var own []refusedRow
	for _, row := range rows {
		if row.why.Permanent || row.refused {
			own = append(own, row)
		} else {
			w.suspects = append(w.suspects, row)
		}
	}
	if w.sent > 0 {
		own, w.suspects = append(own, w.suspects...), nil
	}
	return w.count(ctx, own)
}

// judge gives all suspects back, uncounted. One alone tells nothing, and is counted.
func (w *relayWalker) judge(ctx context.Context) error {
	if len(w.suspects) > 1 {
		return fmt.Errorf("the topics refused all of %d rows, such as one so: %w", len(w.suspects), w.suspects[0].why)
	}
	return w.count(ctx, w.suspects)
}

// count makes events of refused rows, and counts the refusals. They are tried again later,
// or have failed.
func (w *relayWalker) count(ctx context.Context, rows []refusedRow) error {
	rows, err := w.room(ctx, rows)
	if err == nil {
		rows, err = w.adopt(ctx, rows)
	}
	if err != nil || len(rows) == 0 {
		return err
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.eventID)
	}
	counts, err := w.Store.CountRefusals(ctx, ids)
	if err != nil {
		return err
	}
	policy := TopicPolicy{Retries: w.Source.Retries, RetryInterval: w.Source.RetryInterval}
	var postponed []notification.PostponedEvent
	for _, row := range rows {
		count, waits := counts[row.eventID] // one that an operator cancelled meanwhile does not
		if !waits {
			continue
		}
		delay, again := policy.next(row.why, count)
		if !again {
			if err := w.fail(ctx, row, count); err != nil {
				return err
			}
			continue
		}
		postponed = append(postponed, notification.PostponedEvent{ID: row.eventID, Delay: delay, Why: row.why.Error()})
		w.dueIn(delay)
	}
	return w.Store.PostponeEvents(ctx, postponed)
}

// fail gives a row up. One that its table refuses to mark looks as if its service had set
// it back, and is tried again.
func (w *relayWalker) fail(ctx context.Context, row refusedRow, refusals int) error {
	activity.GetLogger(ctx).Error("event is refused by its topic", "event_id", row.eventID, "source", w.Source.Name, "refusals", refusals, "error", row.why)
	if err := w.Store.FailRelayed(ctx, row.eventID, row.why.Error()); err != nil {
		return err
	}
	w.failed += len(w.markFailed(ctx, row))
	return nil
}

func (w *relayWalker) markFailed(ctx context.Context, row refusedRow) (marked []string) {
	return markFailed(ctx, w.Table, w.Source.Name, row.why.Error(), []pendingRow{{notification.SourceKey{Key: row.Key}, row.eventID}})
}

// adopt makes events of rows that are none, and returns those that are one. What Herald's
// database refuses altogether fails in its own table alone.
func (w *relayWalker) adopt(ctx context.Context, rows []refusedRow) (adopted []refusedRow, err error) {
	var events []notification.AdoptedEvent
	var fresh []refusedRow
	for _, row := range rows {
		if row.known {
			adopted = append(adopted, row)
			continue
		}
		event := w.Source.Adopt(row.eventID, row.SourceRow)
		event.Problem = "" // its topic is asked all the same
		events, fresh = append(events, event), append(fresh, row)
	}
	if len(fresh) == 0 {
		return adopted, nil
	}
	unstorable, err := w.Store.AdoptEvents(ctx, w.Source.Name, events)
	if err != nil {
		return nil, err
	}
	for _, row := range fresh {
		if why, refused := unstorable[row.eventID]; refused {
			activity.GetLogger(ctx).Error("event is refused by its topic, and cannot be kept", "event_id", row.eventID, "source", w.Source.Name, "error", row.why, "because", why)
			w.markFailed(ctx, row)
			continue
		}
		adopted = append(adopted, row)
	}
	return adopted, nil
}

// room leaves out rows that are no events yet and would have to wait as such, where
// [notification.MaxOpenRows] wait already: they wait uncounted.
func (w *relayWalker) room(ctx context.Context, rows []refusedRow) ([]refusedRow, error) {
	waits := func(row refusedRow) bool { return !row.known && !row.why.Permanent }
	if !slices.ContainsFunc(rows, waits) {
		return rows, nil
	}
	open, err := w.Store.OpenEvents(ctx, w.Source.Name)
	return slices.DeleteFunc(rows, func(row refusedRow) bool {
		if !waits(row) {
			return false
		}
		open++
		return open > notification.MaxOpenRows
	}), err
}

// settle does what is to be done about rows that are not sent.
func (w *relayWalker) settle(ctx context.Context, page relayPage) error {
	if len(page.sent) > 0 {
		if err := w.Table.MarkSent(ctx, page.sent); err != nil {
			return err
		}
	}
	for why, rows := range page.failed {
		if err := w.Store.RowsFailed(ctx, markFailed(ctx, w.Table, w.Source.Name, why, rows)); err != nil {
			return err
		}
	}
	for _, row := range page.rows {
		if !row.again {
			continue
		}
		if _, err := w.Store.RetryEvent(ctx, row.eventID); err != nil {
			return err
		}
		w.dueIn(time.Nanosecond)
		activity.GetLogger(ctx).Info("an event begins again, since its service has set its row back", "event_id", row.eventID, "source", w.Source.Name)
	}
	return nil
}
