package notification

import (
	"fmt"
	"slices"
)

// DecisionUnsupported means that the channel may not serve the user type.
const DecisionUnsupported Decision = "UNSUPPORTED"

var unsupported = rule{
	decision: DecisionUnsupported,
	applies:  func(f Facts) bool { return !slices.Contains(f.Served, f.Recipient.UserType) },
	meaning:  "{channel} may not serve a recipient of type {user type}",
	remedy:   "add the channel and the user type to channel_user_type",
	subject:  "channel",
	fact: func(f Facts) string {
		return fmt.Sprintf("%s may serve %s", f.Routing.Channel, listed(f.Served, "nobody"))
	},
}
