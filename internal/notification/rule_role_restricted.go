package notification

import (
	"fmt"
	"slices"
)

// DecisionRoleRestricted means that the event type or the entity limits the channel to other
// roles. It also applies to mandatory channels.
const DecisionRoleRestricted Decision = "ROLE_RESTRICTED"

var roleRestricted = rule{
	decision: DecisionRoleRestricted,
	applies: func(f Facts) bool {
		return !roleIn(f.Recipient.Roles, f.Routing.Roles) || !roleIn(f.Recipient.Roles, f.Setting.AllowedRoles)
	},
	meaning: "the event type or their entity allows {channel} only to certain roles, and they had none of these",
	remedy:  "add their role to roles (event_type_channel_routing), or to allowed_roles (entity_notification_settings)",
	subject: "role",
	fact: func(f Facts) string {
		var allowed string
		switch routed, setting := f.Routing.Roles, f.Setting.AllowedRoles; {
		case routed == nil && setting == nil:
			return "any role is allowed"
		case routed == nil:
			allowed = "only the roles " + listed(setting, "none")
		default:
			allowed = "for this event type only the roles " + listed(routed, "none")
			if setting != nil {
				allowed += ", and by the entity only " + listed(setting, "none")
			}
		}
		return fmt.Sprintf("%s are allowed, and theirs is %s", allowed, listed(f.Recipient.Roles, "none"))
	},
}

// roleIn reports whether one of the roles is allowed; nil allows any role.
func roleIn(roles, allowed []string) bool {
	return allowed == nil || slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(allowed, role) })
}
