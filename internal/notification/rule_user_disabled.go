package notification

import (
	"cmp"
	"fmt"
)

// DecisionUserDisabled means that the recipient switched off the channel, entirely or for the
// event type's category.
const DecisionUserDisabled Decision = "USER_DISABLED"

var userDisabled = rule{
	decision: DecisionUserDisabled,
	applies:  func(f Facts) bool { return !f.Routing.Mandatory && (!f.Preference.Enabled || f.CategoryOff()) },
	meaning: "the recipient had switched {channel} off, for everything or for the category of this event type, and it is not mandatory for " +
		"this event type",
	remedy: "let them switch it on (user_notification_preferences, user_category_preferences), or make it mandatory " +
		"(event_type_channel_routing)",
	subject: "preference",
	fact: func(f Facts) string {
		if !f.HasPreference() {
			return "no row: on" + f.categoryText()
		}
		quiet := "off"
		if f.Preference.QuietHours != nil {
			quiet = zonedHours{*f.Preference.QuietHours, zone(f.Recipient.Timezone)}.String()
		}
		return fmt.Sprintf("%s, quiet hours %s, priority %s", onOff(f.Preference.Enabled), quiet, cmp.Or(f.Preference.Priority, Normal)) +
			f.categoryText()
	},
}

// categoryText returns "; the category offers: off", or nothing if the event type has no
// category.
func (f Facts) categoryText() string {
	if f.Category == "" {
		return ""
	}
	return "; the category " + f.Category + ": " + onOff(!f.CategoryOff())
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
