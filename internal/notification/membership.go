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

// DirectoryEntry is a person in the directory, whether or not an event names them.
type DirectoryEntry struct {
	Known, Active bool
	Recipient     Recipient // without an entity and a role
	Memberships   []Membership
}

// NotNamed says why none of an event's targets names somebody, target by target; nil:
// one does.
func NotNamed(targets []Target, entry DirectoryEntry) []string {
	if len(targets) == 0 {
		return []string{"the event names nobody"}
	}
	var reasons []string
	for _, target := range targets {
		reason := target.refuses(entry)
		if reason == "" {
			return nil
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

// refuses says why recipients who are read for a target do not include somebody;
// empty: they do, if they are active.
func (t Target) refuses(entry DirectoryEntry) string {
	r := entry.Recipient
	switch {
	case t.UserType != "" && t.UserType != r.UserType:
		return fmt.Sprintf("of %s only recipients of type %s are told", t.Entity, t.UserType)
	case t.Entity.Type == EntityBroadcast:
		return ""
	case t.Entity.Type == EntityAdmin && r.UserType != Admin:
		return "only admins are told"
	case t.Entity.Type == EntityAdmin:
		return ""
	case t.Entity.Type == EntityCustomer && (r.UserType != Customer || r.UserID != t.Entity.ID):
		return fmt.Sprintf("it concerns %s", t.Entity)
	case t.Entity.Type == EntityCustomer:
		return ""
	}
	i := slices.IndexFunc(entry.Memberships, func(m Membership) bool { return m.Entity == t.Entity })
	switch {
	case i < 0:
		return fmt.Sprintf("they are no member of %s", t.Entity)
	case !entry.Memberships[i].Active:
		return fmt.Sprintf("their membership of %s is not active", t.Entity)
	case t.Roles != nil && !slices.Contains(t.Roles, entry.Memberships[i].Role):
		return fmt.Sprintf("of %s only the roles %s are told, and theirs is %s", t.Entity, strings.Join(t.Roles, ", "), entry.Memberships[i].Role)
	default:
		return ""
	}
}
