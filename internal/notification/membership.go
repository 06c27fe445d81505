package notification

import (
	"fmt"
	"slices"
)

// Follower is the role of people who follow an entity.
const Follower = "FOLLOWER"

// Membership is a row of entity_member for one recipient, or of entity_follow. A member with several
// roles has several rows.
type Membership struct {
	Entity  Entity
	Role    string
	Active  bool
	Follows bool // a row of entity_follow
}

// DirectoryEntry is a person in the directory, even if no event names them.
type DirectoryEntry struct {
	Known, Active bool
	Recipient     Recipient // without an entity and roles
	Memberships   []Membership
}

// NotNamed explains for each target of an event why it does not name a person; nil: one target
// names them.
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

// refuses explains why a target's recipients do not include a person. Empty: they do, if the
// person is active.
func (t Target) refuses(entry DirectoryEntry) string {
	r := entry.Recipient
	switch {
	case t.UserType != "" && t.UserType != r.UserType:
		return fmt.Sprintf("%s: only recipients of type %s are told", t.Entity, t.UserType)
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
	member, active, roles := entry.membership(t.Entity, t.NamesFollowers())
	switch {
	case !member && slices.ContainsFunc(entry.Memberships, func(m Membership) bool { return m.Follows && m.Entity == t.Entity }):
		return fmt.Sprintf("they follow %s, and its roles do not name %s", t.Entity, Follower)
	case !member:
		return fmt.Sprintf("they are not a member of %s", t.Entity)
	case !active:
		return fmt.Sprintf("their membership of %s is not active", t.Entity)
	case !roleIn(roles, t.Roles):
		return fmt.Sprintf("%s: only the roles %s are told, and theirs is %s", t.Entity, listed(t.Roles, "none"), listed(roles, "none"))
	default:
		return ""
	}
}

// NamesFollowers reports whether people who follow the entity are recipients. Without roles, only members are.
func (t Target) NamesFollowers() bool { return slices.Contains(t.Roles, Follower) }

// membership reports whether a person is a member of an entity, whether that membership is
// active, and their roles. followers: who follows it is a member too.
func (e DirectoryEntry) membership(entity Entity, followers bool) (member, active bool, roles []string) {
	for _, m := range e.Memberships {
		if m.Entity != entity || (m.Follows && !followers) {
			continue
		}
		member, active = true, active || m.Active
		if m.Active && m.Role != "" {
			roles = append(roles, m.Role)
		}
	}
	return member, active, roles
}
