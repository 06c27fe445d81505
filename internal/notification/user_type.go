package notification

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
	var known []string
	for _, userType := range e.Known {
		known = append(known, string(userType))
	}
	return fmt.Sprintf("there is no user type %s; the types are %s", e.UserType, strings.Join(known, ", "))
}

// WellFormed says that there may be a user type of that name.
func (t UserType) WellFormed() bool { return userTypeForm.MatchString(string(t)) }

// IsAudience says whether a word may be the audience of a user type, as the table
// user_type has it.
func IsAudience(word string) bool {
	return audienceForm.MatchString(word) && !slices.Contains(otherQueues, word)
}
