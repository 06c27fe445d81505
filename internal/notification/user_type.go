package notification

import (
	"fmt"
	"regexp"
	"slices"
)

// UserType is a kind of recipient: a row of the table user_type.
type UserType string

// The user types that Herald or its example uses. An installation may have others.
const (
	RestaurantUser UserType = "RESTAURANT_USER"
	Customer       UserType = "CUSTOMER"
	AgencyUser     UserType = "AGENCY_USER"
	Admin          UserType = "ADMIN"
	Guest          UserType = "GUEST"
)

// UserTypeRow is a row of the table user_type.
type UserTypeRow struct {
	UserType UserType `json:"user_type"`
	Who      string   `json:"who"`      // used in delivery ids
	Audience string   `json:"audience"` // the last word of its queue names
}

var (
	userTypeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,29}$`)
	audienceForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)
	// otherQueues are last words of queue names that no user type may use.
	otherQueues = []string{"all", "broadcast", "dead-letter", "websocket"}
)

// UnknownUserTypeError means that a user type is not in user_type.
type UnknownUserTypeError struct {
	UserType UserType
	Known    []UserType // all known types, or the first of them
}

func (e *UnknownUserTypeError) Error() string {
	return fmt.Sprintf("there is no user type %s; the types are %s", e.UserType, listed(e.Known, "none"))
}

// WellFormed reports whether a user type may have this name.
func (t UserType) WellFormed() bool { return userTypeForm.MatchString(string(t)) }

// IsAudience reports whether the table user_type accepts a word as the audience of a user type.
func IsAudience(word string) bool {
	return audienceForm.MatchString(word) && !slices.Contains(otherQueues, word)
}

// EventAudience returns the last word of the queue for domain messages about a user type; ""
// without a queue. Guests have no queue, because no service looks after them.
func (t UserTypeRow) EventAudience() string {
	if t.UserType == Guest {
		return ""
	}
	return t.Audience
}

// audience returns the destination of domain messages for the row's recipients; "" without a
// destination.
func (r EventRecipients) audience() string {
	if r.UserType != "" {
		return UserTypeRow{UserType: r.UserType, Audience: r.Audience}.EventAudience()
	}
	return aggregateAudience(r.EntityType)
}

// aggregateAudiences are the queues' last words for aggregate types with recipients, in naming
// order.
var aggregateAudiences = []struct{ aggregate, audience string }{
	{EntityRestaurant, "restaurant"},
	{EntityCustomer, "customer"},
	{EntityAgency, "agency"},
	{EntityAdmin, "admin"},
	{EntityBroadcast, "broadcast"},
}

// AggregateAudiences returns the destinations of domain messages about aggregates with recipients.
func AggregateAudiences() []string {
	words := make([]string, len(aggregateAudiences))
	for i, a := range aggregateAudiences {
		words[i] = a.audience
	}
	return words
}

// aggregateAudience returns the last word of an aggregate type's queue, or "".
func aggregateAudience(aggregateType string) string {
	for _, a := range aggregateAudiences {
		if a.aggregate == aggregateType {
			return a.audience
		}
	}
	return ""
}

// Audiences returns the destinations of an event's domain message: the last words of its queues,
// unique and in a fixed order. The aggregate decides. For a domain aggregate, the recipients in
// the rows of its type decide.
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
	for _, row := range rows { // user types that an installation added
		if audience := row.audience(); audience != "" && !slices.Contains(audiences, audience) {
			audiences = append(audiences, audience)
		}
	}
	return audiences
}
