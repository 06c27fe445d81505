package notification

import (
	"fmt"
	"slices"
	"strings"
)

// Membership is a row of entity_member, of one recipient.
type Membership struct {
	Entity Entity
	Role   string
	Active bool
}

// Reach finds the first of an event's targets that names a recipient, with the
// role that they have there. Where none does, the problems say why, target by
// target. That the recipient is active is for the caller to look at.
func Reach(targets []Target, userType UserType, userID string, memberships []Membership) (entity Entity, role string, problems []string) {
	for _, target := range targets {
		role, problem := target.names(userType, userID, memberships)
		if problem == "" {
			return target.Entity, role, nil
		}
		problems = append(problems, problem)
	}
	if len(targets) == 0 {
		problems = []string{"the event names nobody"}
	}
	return Entity{}, "", problems
}

// names is the rule by which recipients are read for a target; an empty problem
// means that it names this one.
func (t Target) names(userType UserType, userID string, memberships []Membership) (role, problem string) {
	switch {
	case t.UserType != "" && t.UserType != userType:
		return "", fmt.Sprintf("of %s only recipients of type %s are told", t.Entity, t.UserType)
	case t.Entity.Type == EntityBroadcast:
		return "", ""
	case t.Entity.Type == EntityAdmin && userType != Admin:
		return "", "only admins are told"
	case t.Entity.Type == EntityAdmin:
		return "", ""
	case t.Entity.Type == EntityCustomer && (userType != Customer || userID != t.Entity.ID):
		return "", fmt.Sprintf("it concerns %s", t.Entity)
	case t.Entity.Type == EntityCustomer:
		return "", ""
	}
	i := slices.IndexFunc(memberships, func(m Membership) bool { return m.Entity == t.Entity })
	switch {
	case i < 0:
		return "", fmt.Sprintf("they are no member of %s", t.Entity)
	case !memberships[i].Active:
		return "", fmt.Sprintf("their membership of %s is not active", t.Entity)
	case t.Roles != nil && !slices.Contains(t.Roles, memberships[i].Role):
		return "", fmt.Sprintf("of %s only the roles %s are told, and theirs is %s", t.Entity, strings.Join(t.Roles, ", "), memberships[i].Role)
	default:
		return memberships[i].Role, ""
	}
}
