package channel

import "time"

// NewRestingFailover is [NewFailover] with another length of the first rest.
func NewRestingFailover(rest time.Duration, providers ...*Provider) *Failover {
	return newFailover(rest, providers)
}

// LengthOf is the length of the nth rest.
func LengthOf(first time.Duration, n int) time.Duration { return lengthOf(first, n) }
