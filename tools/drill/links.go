package main

import (
	"context"
	"time"

	"herald/tools/link"
)

// slowness is the delay of all data over a slow link, in each direction.
const slowness = 200 * time.Millisecond

// linkFaults returns the faults of links.
func linkFaults(target string, links []*link.Link) []fault {
	if len(links) == 0 {
		return nil
	}
	each := func(do func(*link.Link)) func(context.Context) error {
		return func(context.Context) error {
			for _, l := range links {
				do(l)
			}
			return nil
		}
	}
	mend := each((*link.Link).Mend)
	return []fault{
		{target, "cut", each((*link.Link).Cut), mend},
		{target, "slow", each(func(l *link.Link) { l.Slow(slowness) }), mend},
	}
}
