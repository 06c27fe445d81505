package activities

import (
	"cmp"
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// take adopts the first of the rows, as many as may be open, and returns how many of
// them it has dealt with.
func (o *AdoptedOutbox) take(ctx context.Context, fresh []pendingRow, limit int) (taken int, err error) {
	if len(fresh) == 0 {
		return 0, nil
	}
	open, err := o.Store.OpenEvents(ctx, o.Source.Name)
	if err != nil {
		return 0, err
	}
	fresh = fresh[:max(0, min(len(fresh), limit, notification.MaxOpenRows-open))]
	if len(fresh) == 0 {
		return 0, nil
	}
	ids, keys := map[string]string{}, []string{}
	for _, row := range fresh {
		ids[row.Key], keys = row.eventID, append(keys, row.Key)
	}
	rows, err := o.Table.Rows(ctx, keys)
	if err != nil {
		return 0, err
	}
	var events []notification.AdoptedEvent
	for _, row := range rows {
		events = append(events, o.Source.Adopt(ids[row.Key], row))
	}
	refused, err := o.Store.AdoptEvents(ctx, o.Source.Name, events)
	if err != nil {
		return 0, err
	}
	for i, event := range events {
		event.Problem = cmp.Or(refused[event.ID], event.Problem)
		o.report(ctx, rows[i].Key, event)
	}
	return len(fresh), nil
}

// report marks a row in its own table that cannot be adopted as it is, and counts payloads
// that people cannot be told of. Its event is FAILED by then, so that nobody misses it,
// unless Herald's database refused that too.
func (o *AdoptedOutbox) report(ctx context.Context, key string, event notification.AdoptedEvent) {
	if event.Payload == nil {
		ofSource(ctx, o.Source.Name).Counter(NoJSONMetric).Inc(1)
	}
	if event.Problem == "" {
		return
	}
	activity.GetLogger(ctx).Error("row cannot be adopted", "event_id", event.ID, "source", o.Source.Name, "error", event.Problem)
	markFailed(ctx, o.Table, o.Source.Name, event.Problem, []pendingRow{{notification.SourceKey{Key: key}, event.ID}})
}

// failedRows is where rows are marked that fail.
type failedRows interface {
	MarkFailed(ctx context.Context, keys []string, message string) error
}

// markFailed marks rows that fail for one reason, and returns the events of those that are
// marked. Where their table refuses that, each is marked alone, so that none holds up its
// neighbours, and each walk tries the others once more.
func markFailed(ctx context.Context, table failedRows, source, why string, rows []pendingRow) (marked []string) {
	var keys []string
	for _, row := range rows {
		keys, marked = append(keys, row.Key), append(marked, row.eventID)
	}
	err := table.MarkFailed(ctx, keys, why)
	switch {
	case err == nil:
		return marked
	case len(rows) == 1:
		activity.GetLogger(ctx).Warn("row cannot be marked as failed", "key", keys[0], "source", source, "error", Unquoted(err))
		return nil
	}
	marked = nil
	for i := range rows {
		marked = append(marked, markFailed(ctx, table, source, why, rows[i:i+1])...)
	}
	return marked
}
