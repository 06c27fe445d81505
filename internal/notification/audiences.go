package notification

import "slices"

// EventAudience is the last word of the queue of domain messages that concern a
// user type; "" where there is none. Guests have none, since no service looks after
// them.
func (t UserTypeRow) EventAudience() string {
	if t.UserType == Guest {
		return ""
	}
	return t.Audience
}

// audience is where the domain message goes for those whom the row names; "" where
// there is no such place.
func (r EventRecipients) audience() string {
	if r.UserType != "" {
		return UserTypeRow{UserType: r.UserType, Audience: r.Audience}.EventAudience()
	}
	return aggregateAudience(r.EntityType)
}

// aggregateAudiences are the last words of the queues of the aggregate types that have
// recipients of their own, in the order in which the queues are named.
var aggregateAudiences = []struct{ aggregate, audience string }{
	{EntityRestaurant, "restaurant"},
	{EntityCustomer, "customer"},
	{EntityAgency, "agency"},
	{EntityAdmin, "admin"},
	{EntityBroadcast, "broadcast"},
}

// AggregateAudiences are where the domain messages about those aggregates go.
func AggregateAudiences() []string {
	words := make([]string, len(aggregateAudiences))
	for i, a := range aggregateAudiences {
		words[i] = a.audience
	}
	return words
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
	named := map[string]bool{}
	for _, row := range rows {
		named[row.audience()] = true
	}
	var audiences []string
	for _, audience := range AggregateAudiences() {
		if named[audience] {
			audiences = append(audiences, audience)
		}
	}
	for _, row := range rows { // those of user types that an installation has added
		if audience := row.audience(); audience != "" && !slices.Contains(audiences, audience) {
			audiences = append(audiences, audience)
		}
	}
	return audiences
}
