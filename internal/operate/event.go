package operate

import (
	"context"
	"fmt"
	"strings"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// SelectEventsToRetry selects the events that a filter names, in the order of
// their ids; after is the id behind which to begin.
func (o *Operator) SelectEventsToRetry(ctx context.Context, filter postgres.RetryFilter, after string) (Selection, error) {
	var err error
	if filter.Until, err = o.Store.Now(ctx); err != nil {
		return Selection{}, err
	}
	matched, err := o.Store.CountEventsToRetry(ctx, filter)
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		ids, err := o.Store.EventsToRetry(ctx, filter, after, limit)
		items := make([]item, len(ids))
		for i, id := range ids {
			items[i] = item{id, id}
		}
		return items, err
	}
	return Selection{Matched: matched, After: after, page: page}, err
}

// deliveriesText says what became of an event's deliveries: of its deliveries 3
// cancelled; 2 sent, and stay sent.
func deliveriesText(counts map[notification.Status]int) string {
	var parts []string
	for _, part := range []struct {
		count int
		text  string
	}{
		{counts[notification.Cancelled], "cancelled"},
		{counts[notification.Sent] + counts[notification.Delivered], "sent, and stay sent"},
		{counts[notification.Failed], "failed"},
		{counts[notification.Pending], "still under way"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.text))
		}
	}
	if len(parts) == 0 {
		return "it has no deliveries"
	}
	return "of its deliveries " + strings.Join(parts, "; ")
}

// showEvent tells where to look at an event.
func showEvent(id string) string {
	return "`starter event show " + advice.Quote(id) + "` tells what came of it"
}
