package main

import (
	"context"
	"fmt"
	"io"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// sweepView is what `starter status` shows of lost workflows.
type sweepView struct {
	Incomplete int                 `json:"incomplete_events"` // ended, and left deliveries PENDING to the sweep
	LastSweep  *notification.Sweep `json:"last_sweep"`        // null: there was none
}

func readSweep(ctx context.Context, db *postgres.Store) (sweepView, error) {
	incomplete, err := report.Reader{Pool: db.Pool}.IncompleteEvents(ctx)
	if err != nil {
		return sweepView{}, err
	}
	last, err := db.LastSweep(ctx)
	if err != nil {
		return sweepView{}, err
	}
	view := sweepView{Incomplete: incomplete}
	if !last.At.IsZero() {
		view.LastSweep = &last
	}
	return view, nil
}

func printSweep(w io.Writer, view sweepView) {
	if view.Incomplete > 0 {
		console.Row(w, "incomplete events", view.Incomplete)
	}
	if view.LastSweep == nil {
		console.Row(w, "last sweep", "none yet")
		return
	}
	last := view.LastSweep
	console.Row(w, "last sweep", fmt.Sprintf("%s: %d looked at, %d started again, %d closed, %d failed",
		console.Clock(&last.At), last.Looked, last.StartedAgain, last.Closed, last.Failed))
}
