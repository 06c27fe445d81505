package console

import (
	"context"
	"net/http"

	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/report"
)

// deliveryList is the data of a list of deliveries, with its filters.
type deliveryList struct {
	Status, Channel, Event, Correlation string

	Statuses []notification.Status
	Channels []notification.Channel
	list.Page[report.DeliveryRow]
	Older string
}

func (c *Console) deliveries(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	data := deliveryList{
		Status: query.Get("status"), Channel: query.Get("channel"), Event: query.Get("event"), Correlation: query.Get("correlation"),
		Statuses: notification.Statuses(), Channels: notification.Channels(),
	}
	filter := list.DeliveryFilter{EventID: data.Event, CorrelationID: data.Correlation}
	if data.Status != "" {
		filter.Statuses = []notification.Status{notification.Status(data.Status)}
	}
	channel, err := channelOf(data.Channel)
	if err != nil {
		return page{}, err
	}
	if channel != "" {
		filter.Channels = []notification.Channel{channel}
	}
	data.Page, err = c.lists().Deliveries(ctx, filter, pageAt(query))
	data.Older = older(r, data.Through)
	return page{name: "deliveries", title: "Deliveries", data: data}, err
}

// deliveryPage is the data of a delivery's page.
type deliveryPage struct {
	explain.Why
	Offers  offers
	Actions []list.Action
}

// delivery explains a delivery.
func (c *Console) delivery(ctx context.Context, r *http.Request) (page, error) {
	why, err := c.Explain.WhyDelivery(ctx, r.URL.Query().Get("id"))
	if err != nil {
		return page{}, err
	}
	actions, err := c.lists().Actions(ctx, list.ActionFilter{Target: why.Delivery.DeliveryID}, list.Place{Limit: pageSize})
	data := deliveryPage{why, offersOfDelivery(personOf(ctx), why.Delivery.DeliveryID, why.Delivery.Status), actions.Rows}
	running := why.Delivery.Status == notification.Pending
	return page{name: "delivery", title: why.Delivery.DeliveryID, data: data, running: running}, err
}

// why explains a decision that planned no delivery. If there is a delivery, its page explains it.
func (c *Console) why(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	who, err := recipientOf(query.Get("recipient"))
	if err != nil {
		return page{}, err
	}
	channel, err := channelOf(query.Get("channel"))
	if err != nil {
		return page{}, err
	}
	why, err := c.Explain.Why(ctx,
		report.DecisionKey{EventID: query.Get("event"), UserType: who.UserType, UserID: who.UserID, Channel: channel})
	if err != nil {
		return page{}, err
	}
	return page{name: "delivery", title: who.String() + " over " + string(channel), data: deliveryPage{Why: why}}, nil
}
