package notification

import "slices"

// audience is where the domain message goes for those whom the row names; "" where
// there is no such place.
func (r EventRecipients) audience() string {
	if r.UserType != "" {
		return r.UserType.Audience()
	}
	return aggregateAudience(r.EntityType)
}

// aggregateAudiences are the last words of the queues of the aggregate types that have
// recipients of their own, in the order in which the queues are named.
var aggregateAudiences = []struct{ aggregate, audience string }{
	{EntityRestaurant, RestaurantUser.Audience()},
	{EntityCustomer, Customer.Audience()},
	{EntityAgency, AgencyUser.Audience()},
	{EntityAdmin, Admin.Audience()},
	{EntityBroadcast, "broadcast"},
}

// aggregateAudience is the last word of the queue of an aggregate type, or "".
func aggregateAudience(aggregateType string) string {
	for _, a := range aggregateAudiences {
		if a.aggregate == aggregateType {
			return a.audience
		}
	}
	return ""
}

// Audiences returns where the domain message about an event goes: the last
// words of its queues, each once and in a fixed order. The aggregate decides;
// for a domain aggregate, the kinds of recipient that the rows of its type name.
func Audiences(event Event, rows []EventRecipients) []string {
	if audience := aggregateAudience(event.AggregateType); audience != "" {
		return []string{audience}
	}
	var audiences []string
	for _, a := range aggregateAudiences {
		if slices.ContainsFunc(rows, func(r EventRecipients) bool { return r.audience() == a.audience }) {
			audiences = append(audiences, a.audience)
		}
	}
	return audiences
}
