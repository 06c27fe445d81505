package notification

import (
	"cmp"
	"fmt"
)

// DecisionGroupDisabled means that the entity switched the channel off.
const DecisionGroupDisabled Decision = "GROUP_DISABLED"

var groupDisabled = rule{
	decision: DecisionGroupDisabled,
	applies:  func(f Facts) bool { return !f.Routing.Mandatory && !f.Setting.Enabled },
	meaning:  "their entity had switched {channel} off, and it is not mandatory for this event type",
	remedy:   "switch it on for their entity (entity_notification_settings), or make it mandatory (event_type_channel_routing)",
	subject:  "entity",
	fact: func(f Facts) string {
		switch {
		case f.Setting.Entity.Type == "":
			return "the entity is unknown, and so are its settings"
		case len(f.Settings) == 0:
			return fmt.Sprintf("%s has no row: on", f.Setting.Entity)
		case len(f.Settings) > 1:
			return fmt.Sprintf("%s for this event type: %s; this replaces its row for every event type (%s)", f.Setting.Entity,
				onOff(f.Setting.Enabled), f.Settings[1].text(f.Recipient.Timezone))
		case f.Setting.EventSpecific:
			return fmt.Sprintf("%s for this event type: %s", f.Setting.Entity, onOff(f.Setting.Enabled))
		default:
			return fmt.Sprintf("%s for every event type: %s", f.Setting.Entity, onOff(f.Setting.Enabled))
		}
	},
}

// text describes a setting in full. timezone applies if the setting has no zone.
func (s Setting) text(timezone string) string {
	text := onOff(s.Enabled)
	if s.AllowedRoles != nil {
		text += ", only the roles " + listed(s.AllowedRoles, "none")
	}
	if s.MaxRecipients != nil {
		text += fmt.Sprintf(", at most %d recipients", *s.MaxRecipients)
	}
	if s.QuietHours != nil {
		text += ", quiet hours " + zonedHours{*s.QuietHours, zone(cmp.Or(s.QuietTimezone, timezone))}.String()
	}
	return text
}
