package example

import (
	"fmt"
	"strings"

	"herald/internal/notification"
)

// Fate is what must become of one recipient over one channel. It is written as
// a decision, or for a delivery as its status and, behind a space, that it was
// sent in a digest or a part of its last error: NO_ADDRESS, SENT, SENT in digest,
// FAILED twilio refused: 400 21211.
type Fate struct {
	Decision notification.Decision
	Status   notification.Status // empty: there is no delivery
	Digest   bool                // it is sent in a digest, and not alone
	Error    string              // a part of the last error; empty: whatever it is
}

const inDigest = "in digest"

// UnmarshalText reads a fate.
func (f *Fate) UnmarshalText(text []byte) error {
	word, rest, _ := strings.Cut(string(text), " ")
	switch status := notification.Status(word); status {
	case notification.Pending, notification.Sent, notification.Failed, notification.Cancelled:
		*f = Fate{Decision: notification.DecisionSelected, Status: status, Error: rest}
		if rest == inDigest {
			f.Digest, f.Error = true, ""
		}
		return nil
	}
	switch decision := notification.Decision(word); decision {
	case notification.DecisionUnsupported, notification.DecisionUserDisabled, notification.DecisionGroupDisabled, notification.DecisionRoleRestricted,
		notification.DecisionQuietHours, notification.DecisionMaxRecipients, notification.DecisionNoAddress:
		if rest != "" {
			return fmt.Errorf("%q: a decision stands alone", text)
		}
		*f = Fate{Decision: decision}
		return nil
	}
	return fmt.Errorf("%q is neither a decision nor a status", text)
}

// String is the form that [Fate.UnmarshalText] reads.
func (f Fate) String() string {
	switch {
	case f.Status == "":
		return string(f.Decision)
	case f.Digest:
		return string(f.Status) + " " + inDigest
	case f.Error == "":
		return string(f.Status)
	default:
		return string(f.Status) + " " + f.Error
	}
}
