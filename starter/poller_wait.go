package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/internal/advice"
)

// pollerGoal is what pollers are told to become.
type pollerGoal struct {
	reached func(pollerState) bool
	missed  string // what those are that have not reached it
	next    string // what an operator can do about them
}

// waitForPollers waits until all of them have reached the goal.
func waitForPollers(ctx context.Context, temporal describer, ids []string, goal pollerGoal) error {
	for left := slices.Clone(ids); ; {
		var waiting []string
		for _, id := range left {
			p, err := readPoller(ctx, temporal, id)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err != nil || !goal.reached(p) {
				waiting = append(waiting, id)
			}
		}
		if left = waiting; len(left) == 0 {
			return nil
		}
		if err := pause(ctx); err != nil {
			return advice.With(fmt.Errorf("%s: %s: %w", goal.missed, strings.Join(left, ", "), err), goal.next)
		}
	}
}
