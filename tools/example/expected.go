package example

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/notification"
)

// Expectation is the expected end of an event.
type Expectation struct {
	Outcome string `json:"outcome"`
	// by type and id, such as RESTAURANT_USER/10; nobody else may get a message
	Recipients map[string]map[notification.Channel]ExpectedResult `json:"recipients"`
}

// Outcomes of an event with recipients. [notification.EventOutcome] has the other outcomes.
const (
	Completed = "COMPLETED"
	Running   = "RUNNING" // a delivery waits for the end of quiet hours
)

// ExpectedResult is the expected result for one recipient and channel. Its text is a decision,
// or the status of the delivery, optionally with "in digest" or a part of the last error:
// NO_ADDRESS, SENT, SENT in digest, FAILED twilio refused: 400 21211.
type ExpectedResult struct {
	Decision notification.Decision
	Status   notification.Status // empty: no delivery
	Digest   bool                // sent in a digest; false: sent alone
	Error    string              // part of the last error; empty: any
}

const inDigest = "in digest"

// UnmarshalText reads the text of an expected result.
func (e *ExpectedResult) UnmarshalText(text []byte) error {
	word, rest, _ := strings.Cut(string(text), " ")
	switch status, decision := notification.Status(word), notification.Decision(word); {
	case slices.Contains([]notification.Status{notification.Pending, notification.Sent, notification.Failed, notification.Cancelled}, status):
		*e = ExpectedResult{Decision: notification.DecisionSelected, Status: status, Error: rest}
		if rest == inDigest {
			e.Digest, e.Error = true, ""
		}
		return nil
	case decision != notification.DecisionSelected && slices.Contains(notification.Decisions(), decision) && rest == "":
		*e = ExpectedResult{Decision: decision}
		return nil
	default:
		return fmt.Errorf("%q is neither a decision nor a status", text)
	}
}

// String returns the text that [ExpectedResult.UnmarshalText] reads.
func (e ExpectedResult) String() string {
	if e.Status == "" {
		return string(e.Decision)
	}
	rest := e.Error
	if e.Digest {
		rest = inDigest
	}
	return strings.TrimSpace(string(e.Status) + " " + rest)
}
