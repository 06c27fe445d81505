package notification

import (
	"cmp"
	"fmt"
	"strings"
)

// DecisionSuppressed means that the recipient's address gets nothing: it does not work, or its
// owner refused. It also applies to mandatory channels and to an operator's orders.
const DecisionSuppressed Decision = "SUPPRESSED"

var suppressed = rule{
	decision: DecisionSuppressed,
	applies:  func(f Facts) bool { return len(f.suppressions()) > 0 },
	meaning: func(channel Channel, _ UserType) string {
		return fmt.Sprintf("their address for %s was suppressed: it did not work, or its owner had said no", channel)
	},
	remedy: func(channel Channel) string {
		return fmt.Sprintf("enter another address (recipient); or, if this one works again and its owner agrees, run starter suppression remove --channel %s", channel)
	},
	subject: "suppression",
	fact: func(f Facts) string {
		var found []string
		for _, s := range f.suppressions() {
			found = append(found, s.String())
		}
		return cmp.Or(strings.Join(found, "; "), "their address is not suppressed")
	},
	ordered: true,

	unreachable: true,
}

// suppressions returns the reasons why the recipient's address on the channel gets nothing.
func (f Facts) suppressions() []Suppression {
	var found []Suppression
	for _, s := range f.Recipient.Suppressions {
		if s.Channel == f.Routing.Channel {
			found = append(found, s)
		}
	}
	return found
}

// String returns BOUNCE since 2026-06-01 12:00 UTC: 550 no such user.
func (s Suppression) String() string {
	text := fmt.Sprintf("%s since %s", s.Reason, s.Since.UTC().Format("2006-01-02 15:04 MST"))
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	return text
}
