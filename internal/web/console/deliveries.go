package console

import (
	"context"
	"net/http"
	"strconv"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// deliveryList is the data of a list of deliveries, with its filters.
type deliveryList struct {
	Status, Channel, Event, Correlation string

	Statuses []notification.Status
	Channels []notification.Channel
	Rows     []report.DeliveryRow
	More     bool // later deliveries of the list may fit that were not searched
	Older    string
}

func (c *Console) deliveries(ctx context.Context, r *http.Request) (page, error) {
	query := r.URL.Query()
	data := deliveryList{
		Status: query.Get("status"), Channel: query.Get("channel"), Event: query.Get("event"), Correlation: query.Get("correlation"),
		Statuses: notification.Statuses(), Channels: notification.Channels(),
	}
	filter := report.DeliveryFilter{EventID: data.Event, CorrelationID: data.Correlation}
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
	if data.Event != "" {
		err = c.deliveriesOfEvent(ctx, r, &data, filter)
	} else {
		err = c.latestDeliveries(ctx, r, &data, filter)
	}
	return page{name: "deliveries", title: "Deliveries", data: data}, err
}

// deliveriesOfEvent reads in the order of recipients: sorting by time would read all deliveries of the
// event.
func (c *Console) deliveriesOfEvent(ctx context.Context, r *http.Request, data *deliveryList, filter report.DeliveryFilter) (err error) {
	after, through := r.URL.Query().Get("before"), ""
	if data.Status != "" || data.Channel != "" || data.Correlation != "" {
		if through, err = c.reader().NextDelivery(ctx, data.Event, after, c.searched); err != nil {
			return err
		}
	}
	data.Rows, err = c.reader().EventDeliveries(ctx, filter, after, through, pageSize)
	data.Older, data.More = olderSearched(r, len(data.Rows), func(last int) string { return data.Rows[last].DeliveryID }, through)
	return err
}

func (c *Console) latestDeliveries(ctx context.Context, r *http.Request, data *deliveryList, filter report.DeliveryFilter) (err error) {
	if before := r.URL.Query().Get("before"); before != "" {
		if filter.Before, err = strconv.ParseInt(before, 10, 64); err != nil {
			return &refusal{http.StatusBadRequest, "The address of this page is damaged."}
		}
	}
	through := ""
	if data.Correlation == "" { // the other filters have no index
		newest := filter.Before - 1
		if newest < 0 {
			if newest, err = c.reader().LastDelivery(ctx); err != nil {
				return err
			}
		}
		if searched := int64(c.searched); newest > searched {
			filter.After = newest - searched
			through = strconv.FormatInt(filter.After+1, 10)
		}
	}
	data.Rows, err = c.reader().LatestDeliveries(ctx, filter, pageSize)
	data.Older, data.More = olderSearched(r, len(data.Rows), func(last int) string { return strconv.FormatInt(data.Rows[last].ID, 10) }, through)
	return err
}

// deliveryPage is the data of a delivery's page.
type deliveryPage struct {
	explain.Why
	Actions []report.Action
}

// delivery explains a delivery.
func (c *Console) delivery(ctx context.Context, r *http.Request) (page, error) {
	why, err := c.Explain.WhyDelivery(ctx, r.URL.Query().Get("id"))
	if err != nil {
		return page{}, err
	}
	actions, err := c.reader().Actions(ctx, report.ActionFilter{Target: why.Delivery.DeliveryID}, pageSize)
	running := why.Delivery.Status == notification.Pending && why.Workflow.UnderWay()
	return page{name: "delivery", title: why.Delivery.DeliveryID, data: deliveryPage{why, actions}, running: running}, err
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
	why, err := c.Explain.Why(ctx, report.DecisionKey{EventID: query.Get("event"), UserType: who.UserType, UserID: who.UserID, Channel: channel})
	if err != nil {
		return page{}, err
	}
	return page{name: "delivery", title: who.String() + " over " + string(channel), data: deliveryPage{Why: why}}, nil
}
