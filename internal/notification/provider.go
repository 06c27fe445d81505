package notification

import (
	"errors"
	"time"
)

// ErrBackOff means that no provider was called: all that may send the message rest, are paused
// or are at their rate limit. The attempt does not count.
var ErrBackOff = errors.New("all providers that may send it rest, are paused or are at their rate limit, see `starter channel list`")

// BackOffError is [ErrBackOff] with the time until a provider may be asked.
type BackOffError struct {
	For   time.Duration // 0: unknown, or now
	Alone bool          // only the message's destination takes no messages now; other messages may be sent
}

func (e *BackOffError) Error() string { return ErrBackOff.Error() }

func (e *BackOffError) Unwrap() error { return ErrBackOff }

// ProviderOverride is an operator's order about a provider, which beats its failures.
type ProviderOverride string

// The overrides; empty: none.
const (
	ProviderPaused ProviderOverride = "PAUSED" // it gets no messages
	ProviderUsed   ProviderOverride = "USED"   // it is asked first, even if it fails
)

// ProviderState is a row of provider_state.
type ProviderState struct {
	Provider   string           `json:"provider"`
	Rests      int              `json:"rests"` // consecutive rests; 0: it works
	RestsFor   time.Duration    `json:"-"`     // from now until its probe; negative: the probe is due
	RestsUntil time.Time        `json:"rests_until,omitzero"`
	Failure    string           `json:"failure,omitempty"` // before the last rest
	Override   ProviderOverride `json:"override,omitempty"`
	By         string           `json:"by,omitempty"` // the operator
	Reason     string           `json:"reason,omitempty"`
}
