package operate

import (
	"context"

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
	if text := notification.CountsText(counts); text != "" {
		return "of its deliveries " + text
	}
	return "it has no deliveries"
}

// showEvent tells where to look at an event.
func showEvent(id string) string {
	return "`starter event show " + advice.Quote(id) + "` tells what came of it"
}
