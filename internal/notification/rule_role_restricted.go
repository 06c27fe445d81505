package notification

import (
	"cmp"
	"fmt"
	"slices"
)

// DecisionRoleRestricted says that the entity allows the channel to other roles
// only. It counts for what is mandatory too.
const DecisionRoleRestricted Decision = "ROLE_RESTRICTED"

var roleRestricted = rule{
	decision: DecisionRoleRestricted,
	applies: func(f Facts) bool {
		return f.Setting.AllowedRoles != nil && !slices.Contains(f.Setting.AllowedRoles, f.Recipient.Role)
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
		return fmt.Sprintf("only the roles %s are allowed, and theirs is %s", listed(f.Setting.AllowedRoles, "none"), cmp.Or(f.Recipient.Role, "none"))
	},
}
