package notification

import "fmt"

// PassedOver is people in the directory whom an event names and whom planning cannot
// tell, since their user type is not in user_type, or since no workflow ID may
// hold their id. Only a directory of an installation's own can hold such people.
type PassedOver struct {
	Entity   Entity   // through which the event names them
	UserType UserType // as the directory has it
	Known    bool     // the type is in user_type, so it is for the ids
	Count    int      // of those that were looked at
}

// String names the people and what is wrong with them, and holds no user id.
func (p PassedOver) String() string {
	who, have := p.people(), "have"
	if p.Count == 1 {
		have = "has"
	}
	kind := string(p.UserType)
	if !p.UserType.WellFormed() {
		kind = fmt.Sprintf("%.30q", kind)
	}
	if p.Known {
		return fmt.Sprintf("%d %s of type %s %s an id that is empty, longer than 64 bytes or not printable", p.Count, who, kind, have)
	}
	return fmt.Sprintf("%d %s %s the user type %s, which is not in user_type", p.Count, who, have, kind)
}

func (p PassedOver) people() string {
	one, many := "member of "+p.Entity.String(), "members of "+p.Entity.String()
	if p.Entity.Type == EntityCustomer || p.Entity.Type == EntityAdmin || p.Entity.Type == EntityBroadcast {
		one, many = "recipient", "recipients"
	}
	if p.Count == 1 {
		return one
	}
	return many
}
