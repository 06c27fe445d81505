package notification

import "fmt"

// DecisionMaxRecipients means that the entity allows no further recipient.
const DecisionMaxRecipients Decision = "MAX_RECIPIENTS"

var maxRecipients = rule{
	decision: DecisionMaxRecipients,
	applies:  Facts.AtCapacity,
	meaning:  "recipients before them had used up max_recipients of their entity for {channel}",
	remedy:   "raise max_recipients (entity_notification_settings), or make it mandatory (event_type_channel_routing)",
	subject:  "recipients",
	fact: func(f Facts) string {
		switch {
		case !f.Limited():
			return "any number is allowed"
		case f.Uncounted:
			return fmt.Sprintf("at most %d are allowed; the number before them is not known", *f.Setting.MaxRecipients)
		default:
			return fmt.Sprintf("at most %d are allowed, and %d come before them", *f.Setting.MaxRecipients, f.Selected)
		}
	},
	settled: true, // a recipient keeps their place
}

// Limited reports whether the entity limits the number of recipients.
func (f Facts) Limited() bool { return !f.Routing.Mandatory && f.Setting.MaxRecipients != nil }

// AtCapacity reports whether earlier recipients used up the limit.
func (f Facts) AtCapacity() bool { return f.Limited() && f.Selected >= *f.Setting.MaxRecipients }
