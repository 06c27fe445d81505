package limit

import "time"

// NewImpatientCircuits is [NewCircuits] with a different first time that a circuit stays open.
func NewImpatientCircuits(states Store, first time.Duration) *Circuits {
	b := NewCircuits(states)
	b.first = first
	return b
}
