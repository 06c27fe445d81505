package channel

import "time"

// NewImpatientBoard is [NewBoard] with a different length of the first rest.
func NewImpatientBoard(states States, first time.Duration) *Board {
	b := NewBoard(states)
	b.first = first
	return b
}
