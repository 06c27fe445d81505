package notification

import (
	"fmt"
	"slices"
)

// DecisionRoleRestricted says that the entity allows the channel to other roles
// only. It counts for what is mandatory too.
const DecisionRoleRestricted Decision = "ROLE_RESTRICTED"

var roleRestricted = rule{
	decision: DecisionRoleRestricted,
	applies: func(f Facts) bool {
		return f.Setting.AllowedRoles != nil && !anyOf(f.Recipient.Roles, f.Setting.AllowedRoles)
	},
	meaning: func(channel Channel, _ UserType) string {
		return fmt.Sprintf("their entity allows %s to certain roles only, and theirs was none of them", channel)
	},
	remedy:  func(Channel) string { return "add their role to allowed_roles (entity_notification_settings)" },
	subject: "role",
	fact: func(f Facts) string {
		if f.Setting.AllowedRoles == nil {
			return "any role is allowed"
		}
		return fmt.Sprintf("only the roles %s are allowed, and theirs is %s", listed(f.Setting.AllowedRoles, "none"), listed(f.Recipient.Roles, "none"))
	},
}

// anyOf says that one of somebody's roles is among those that are allowed.
func anyOf(roles, allowed []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(allowed, role) })
}
