package notification

import "fmt"

// Membership is a row of entity_member, of one recipient. Of a member with several roles
// there are several.
type Membership struct {
	Entity Entity
	Role   string
	Active bool
}

// DirectoryEntry is a person in the directory, whether or not an event names them.
type DirectoryEntry struct {
	Known, Active bool
	Recipient     Recipient // without an entity and roles
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
	member, active, roles := entry.membership(t.Entity)
	switch {
	case !member:
		return fmt.Sprintf("they are no member of %s", t.Entity)
	case !active:
		return fmt.Sprintf("their membership of %s is not active", t.Entity)
	case !roleIn(roles, t.Roles):
		return fmt.Sprintf("of %s only the roles %s are told, and theirs is %s", t.Entity, listed(t.Roles, "none"), listed(roles, "none"))
	default:
		return ""
	}
}

// membership says whether somebody is a member of an entity, whether an active one,
// and in which roles they are.
func (e DirectoryEntry) membership(entity Entity) (member, active bool, roles []string) {
	for _, m := range e.Memberships {
		if m.Entity != entity {
			continue
		}
		member, active = true, active || m.Active
		if m.Active && m.Role != "" {
			roles = append(roles, m.Role)
		}
	}
	return member, active, roles
}
