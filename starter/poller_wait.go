package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pollerGoal is what pollers are told to become.
type pollerGoal struct {
	reached func(pollerState) bool
	missed  string // what those are that have not reached it
	next    string // what an operator can do about them
}

// waitForPollers waits until all of them have reached the goal.
func waitForPollers(ctx context.Context, temporal describer, ids []string, goal pollerGoal) error {
	left := slices.Clone(ids)
	ticker := time.NewTicker(stopInterval)
	defer ticker.Stop()
	for {
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
		select {
		case <-ctx.Done():
			return advise(fmt.Errorf("%s: %s: %w", goal.missed, strings.Join(left, ", "), context.Cause(ctx)), goal.next)
		case <-ticker.C:
		}
	}
}
