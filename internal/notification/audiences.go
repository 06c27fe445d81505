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

// aggregateAudience is the last word of the queue of an aggregate type, or "".
func aggregateAudience(aggregateType string) string {
	switch aggregateType {
	case EntityRestaurant:
		return RestaurantUser.Audience()
	case EntityCustomer:
		return Customer.Audience()
	case EntityAgency:
		return AgencyUser.Audience()
	case EntityAdmin:
		return Admin.Audience()
	case EntityBroadcast:
		return "broadcast"
	default:
		return ""
	}
}

// Audiences returns where the domain message about an event goes: the last
// words of its queues, each once and in a fixed order. The aggregate decides;
// for a domain aggregate, the kinds of recipient that the rows of its type name.
func Audiences(event Event, rows []EventRecipients) []string {
	if audience := aggregateAudience(event.AggregateType); audience != "" {
		return []string{audience}
	}
	var audiences []string
	for _, kind := range []string{EntityRestaurant, EntityCustomer, EntityAgency, EntityAdmin, EntityBroadcast} {
		audience := aggregateAudience(kind)
		if slices.ContainsFunc(rows, func(r EventRecipients) bool { return r.audience() == audience }) {
			audiences = append(audiences, audience)
		}
	}
	return audiences
}
