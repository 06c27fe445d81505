package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The outcomes of both kinds of messages.
const (
	outcomeDelivered = "delivered" // the default
	outcomeSilent    = "silent"    // nothing is said about it
)

// outcomeOf is the outcome that an address or a number has by itself: bounce+7@example.com,
// +15005550105.
func outcomeOf(address string) string {
	if outcome, known := outcomeByNumber[address]; known {
		return outcome
	}
	local, _, isMail := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	if _, known := mailOutcomes[local]; isMail && known {
		return local
	}
	return outcomeDelivered
}

// checkOutcome says whether messages to the address can have the outcome.
func checkOutcome(address, outcome string) error {
	if strings.Contains(address, "@") {
		return checkWord(mailOutcomes, "an e-mail", outcome)
	}
	if !isPhone(address) {
		return fmt.Errorf("outcomes are by e-mail address, or by number like +393331234567: %q is neither", address)
	}
	return checkWord(textOutcomes, "a text message", outcome)
}

func checkWord[T any](outcomes map[string]T, of, outcome string) error {
	if _, known := outcomes[outcome]; !known {
		return fmt.Errorf("%q is no outcome of %s: it must be one of %s", outcome, of, strings.Join(slices.Sorted(maps.Keys(outcomes)), ", "))
	}
	return nil
}
