package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/workflows"
)

// The exit code and the next step follow from what is left.
func TestRestoreProblem(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		left   notification.Restored
		dryRun bool
		lost   *operate.LostEvents
		want   string // empty: nothing is left to do
	}{
		"all is well":             {},
		"no event is lost":        {lost: &operate.LostEvents{Looked: 7}},
		"an event is lost":        {lost: &operate.LostEvents{Looked: 7, Lost: 1}, want: "lacks events"},
		"workflows are missing":   {left: notification.Restored{MissingEvents: 1}, dryRun: true, want: "are missing"},
		"they are still missing":  {left: notification.Restored{MissingDeliveries: 1}, want: "still missing"},
		"missing comes first":     {left: notification.Restored{MissingEvents: 1, Sweep: notification.Sweep{Ambiguous: 1}}, want: "still missing"},
		"ambiguous, in a dry run": {left: notification.Restored{Sweep: notification.Sweep{Ambiguous: 1}}, dryRun: true, want: "lost the end"},
		"ambiguous":               {left: notification.Restored{Sweep: notification.Sweep{Ambiguous: 1}}, want: "lost the end"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			view := restoreView{LostEvents: tt.lost}
			view.DryRun, view.RestoreResult = tt.dryRun, workflows.RestoreResult{Left: tt.left}
			if tt.want == "" {
				require.NoError(t, view.problem())
			} else {
				require.ErrorContains(t, view.problem(), tt.want)
			}
		})
	}
}
