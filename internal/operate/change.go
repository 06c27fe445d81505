package operate

import (
	"errors"
	"strings"
	"time"
)

// ErrNoSuchChange means that [Change] has no verb.
var ErrNoSuchChange = errors.New("there is no such change")

// retryWait is the time that the retry of a [Change] waits for the end of its delivery.
const retryWait = 10 * time.Second

// Change is a change of one delivery or event that a form asks for.
type Change struct {
	Command string    // the command of starter that does the same, such as delivery retry
	Again   bool      // of delivery retry: also retry a sent delivery
	At      time.Time // of delivery reschedule
}

// Verb returns the verb of a change. An error of a time is a sentence for people.
func (c Change) Verb(now time.Time) (Verb, error) {
	switch c.Command {
	case "delivery cancel":
		return CancelDelivery(), nil
	case "delivery send-now":
		return SendNow(), nil
	case "delivery retry":
		return RetryDelivery(c.Again, retryWait), nil
	case "delivery reschedule":
		return Reschedule(c.At, now)
	case "event cancel":
		return CancelEvent(), nil
	case "event retry":
		return RetryEvent(false), nil
	case "event approve":
		return ApproveEvent(), nil
	case "event reject":
		return RejectEvent(), nil
	default:
		return Verb{}, ErrNoSuchChange
	}
}

// Flags returns the flags that the command of starter would have, for the audit.
func (c Change) Flags() string {
	var flags []string
	if c.Again {
		flags = append(flags, "--again")
	}
	if !c.At.IsZero() {
		flags = append(flags, "--at "+c.At.UTC().Format(time.RFC3339))
	}
	return strings.Join(flags, " ")
}
