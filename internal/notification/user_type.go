package notification

import (
	"cmp"
	"strings"
)

// UserType is the kind of person a recipient is.
type UserType string

// The types of user.
const (
	RestaurantUser UserType = "RESTAURANT_USER"
	Customer       UserType = "CUSTOMER"
	AgencyUser     UserType = "AGENCY_USER"
	Admin          UserType = "ADMIN"
	Guest          UserType = "GUEST"
)

// userTypeRow is all that Herald knows of one type of user.
type userTypeRow struct {
	name     UserType
	who      string // in delivery ids
	audience string // the last word of the queues that concern it
}

// userTypeTable has one row for each type, in the order in which they are shown.
var userTypeTable = []userTypeRow{
	{name: RestaurantUser, who: "staff", audience: "restaurant"},
	{name: Customer, who: "customer", audience: "customer"},
	{name: AgencyUser, who: "agent", audience: "agency"},
	{name: Admin, who: "admin", audience: "admin"},
	{name: Guest, who: "guest", audience: "guest"},
}

// row is the type's row; of a type that does not exist, an empty one.
func (t UserType) row() userTypeRow {
	for _, row := range userTypeTable {
		if row.name == t {
			return row
		}
	}
	return userTypeRow{}
}

// UserTypes returns every type of user, in the order in which they are shown.
func UserTypes() []UserType {
	names := make([]UserType, len(userTypeTable))
	for i, row := range userTypeTable {
		names[i] = row.name
	}
	return names
}

// Who is the word for the type in a delivery id. No id goes without one: of a
// type that does not exist it is the name.
func (t UserType) Who() string { return cmp.Or(t.row().who, strings.ToLower(string(t))) }

// Audience is the last word of the queues that concern the type; empty for a
// type that does not exist.
func (t UserType) Audience() string { return t.row().audience }
