package console

import (
	"context"
	"net/http"

	"herald/internal/advice"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
)

// eventList is the data of a list of events, with its filters.
type eventList struct {
	Status, Outcome, Type, Aggregate, Correlation string

	Statuses []notification.OutboxStatus
	Outcomes []notification.EventOutcome
	list.Page[list.EventRow]
	Older string
}

func (c *Console) events(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	data := eventList{
		Status: query.Get("status"), Outcome: query.Get("outcome"), Type: query.Get("type"), Aggregate: query.Get("aggregate"),
		Correlation: query.Get("correlation"),
		Statuses:    []notification.OutboxStatus{notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed},
		Outcomes:    notification.EventOutcomes(),
	}
	filter := list.EventFilter{
		Status: notification.OutboxStatus(data.Status), Outcome: notification.EventOutcome(data.Outcome), Type: data.Type,
		CorrelationID: data.Correlation,
	}
	if data.Aggregate != "" {
		who, err := recipientOf(data.Aggregate)
		if err != nil {
			return page{}, err
		}
		filter.Aggregate = notification.Entity{Type: string(who.UserType), ID: who.UserID}
	}
	var err error
	data.Page, err = c.lists().Events(ctx, filter, pageAt(query))
	data.Older = older(r, data.Through)
	return page{name: "events", title: "Events", data: data}, err
}

// mostDecisions limits the recipients whose decisions an event's page counts.
const mostDecisions = 10_000

// eventPage is the data of an event's page.
type eventPage struct {
	explain.EventView
	State  eventState
	Bar    bar
	Rows   []recipientRow // of its first recipients, problems first
	Missed []missed

	Offers  offers
	NoTexts string // why the person may not see its texts; empty: they may
}

func (c *Console) event(ctx context.Context, r *http.Request) (page, error) {
	view, err := c.Explain.EventBriefly(ctx, r.URL.Query().Get("id"))
	if err != nil {
		return page{}, err
	}
	counts, err := c.reader().NotSelected(ctx, view.EventID, mostDecisions)
	if err != nil {
		return page{}, err
	}
	who := personOf(ctx)
	data := eventPage{
		EventView: view, State: stateOf(view, c.now()), Bar: barOf(view.Deliveries.ByStatus), Rows: problemsFirst(view.Recipients),
		Offers: offersOfEvent(who, view), NoTexts: who.denied("POST /templates"),
	}
	for _, count := range counts {
		data.Missed = append(data.Missed, missed{count})
	}
	return page{name: "event", title: view.EventID, data: data, running: view.Workflow.Status == explain.Running || waitsInOutbox(view)}, nil
}

// waitsInOutbox reports whether a poller has not started the event yet.
func waitsInOutbox(view explain.EventView) bool {
	return view.Processed == nil && view.Outbox != nil && view.Outbox.Status == notification.OutboxPending
}

// simulation shows who would get an event that waits for approval.
func (c *Console) simulation(ctx context.Context, r *http.Request) (page, error) {
	id := r.URL.Query().Get("id")
	data, err := c.Explain.Simulate(ctx, explain.SimulateRequest{EventID: id})
	return page{name: "simulation", title: id, data: data}, advice.NoEvent(id, err)
}
