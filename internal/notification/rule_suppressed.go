package notification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DecisionSuppressed means that the recipient's address gets nothing: it does not work, or its
// owner refused. It also applies to mandatory channels and to an operator's orders.
const DecisionSuppressed Decision = "SUPPRESSED"

var suppressed = rule{
	decision: DecisionSuppressed,
	applies:  func(f Facts) bool { return len(f.suppressions()) > 0 },
	meaning:  "their address for {channel} was suppressed: it did not work, or its owner had said no",
	remedy: "enter another address (recipient); or, if this one works again and its owner agrees, run starter suppression remove " +
		"--channel {channel}",
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
	return slices.DeleteFunc(slices.Clone(f.Recipient.Suppressions), func(s Suppression) bool { return s.Channel != f.Routing.Channel })
}

// String returns BOUNCE since 2026-06-01 12:00 UTC: 550 no such user.
func (s Suppression) String() string {
	text := fmt.Sprintf("%s since %s", s.Reason, s.Since.UTC().Format("2006-01-02 15:04 MST"))
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	return text
}
