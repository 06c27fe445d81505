package notification

import (
	"fmt"
	"regexp"
	"slices"
)

// UserType is the kind of person a recipient is: a row of the table user_type.
type UserType string

// The types of user that mean something to Herald, or that its example has. An
// installation may have others.
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
	Who      string   `json:"who"`      // in delivery ids
	Audience string   `json:"audience"` // the last word of the queues that concern it
}

var (
	userTypeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,29}$`)
	audienceForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)
	// otherQueues are the last words of queues with another meaning.
	otherQueues = []string{"all", "broadcast", "dead-letter", "websocket"}
)

// UnknownUserTypeError says that a user type is not in user_type.
type UnknownUserTypeError struct {
	UserType UserType
	Known    []UserType // those that are, or the first of them
}

func (e *UnknownUserTypeError) Error() string {
	return fmt.Sprintf("there is no user type %s; the types are %s", e.UserType, listed(e.Known, "none"))
}

// WellFormed says that there may be a user type of that name.
func (t UserType) WellFormed() bool { return userTypeForm.MatchString(string(t)) }

// IsAudience says whether a word may be the audience of a user type, as the table
// user_type has it.
func IsAudience(word string) bool {
	return audienceForm.MatchString(word) && !slices.Contains(otherQueues, word)
}

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
