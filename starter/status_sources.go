package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"herald/internal/console"
	"herald/internal/operate"
	"herald/internal/outboxes"
)

// sourcesView is what `starter status --source` prints.
type sourcesView struct {
	Sources       []operate.SourceState `json:"sources"`
	Pollers       *operate.Pollers      `json:"pollers"` // null: Temporal is out of reach
	PollerProblem string                `json:"poller_problem,omitempty"`
}

// statusOf shows one source alone.
func (a *app) statusOf(ctx context.Context, name string) error {
	sources, err := a.sourcesNamed(name)
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	var view sourcesView
	if view.Sources, err = operate.ReadSources(ctx, db, sources); err != nil {
		return err
	}
	a.warnOfSources(view.Sources)
	a.addPollers(ctx, &view, sources)
	return a.Print(view, func(w io.Writer) {
		printSourceStates(w, view.Sources)
		console.Row(w)
		printPollersOf(w, view)
	})
}

// warnOfSources names the sources whose own tables could not be counted.
func (a *app) warnOfSources(states []operate.SourceState) {
	for _, state := range states {
		if state.Problem != "" {
			a.Note("warning: nothing is known of the table of %s: %s; `starter source check %s` looks at it alone", state.Name, state.Problem, state.Name)
		}
	}
}

// addPollers adds the pollers of sources, unless Temporal is out of reach.
func (a *app) addPollers(ctx context.Context, view *sourcesView, sources []outboxes.Source) {
	pollers, err := a.pollersNow(ctx, sources)
	if err != nil {
		view.PollerProblem = err.Error()
		a.Note("warning: nothing is known of the pollers; %s", a.nextStep(err))
		return
	}
	view.Pollers = pollers
	a.warnOfPollers(*pollers)
}

func (a *app) pollersNow(ctx context.Context, sources []outboxes.Source) (*operate.Pollers, error) {
	launcher, _, err := a.launcher(ctx)
	if err != nil {
		return nil, err
	}
	defer launcher.Client.Close()
	pollers, err := operate.ReadPollers(ctx, launcher, sources)
	if err != nil {
		return nil, err
	}
	if pollers.Others, err = operate.OtherInstallations(ctx, launcher); err != nil {
		a.Note("warning: %v", err) // visibility can be down alone
	}
	return &pollers, nil
}

func printPollersOf(w io.Writer, view sourcesView) {
	if view.Pollers == nil {
		console.Row(w, "pollers", "unknown: "+view.PollerProblem)
		return
	}
	printPollers(w, *view.Pollers)
}

func printSourceStates(w io.Writer, states []operate.SourceState) {
	console.Row(w, "SOURCE", "PENDING", "OLDEST", "FAILED", "RESTING TOPICS")
	for _, state := range states {
		pending, oldest := "unknown", "-"
		if state.Problem == "" {
			pending, oldest = strconv.Itoa(*state.Pending), oldestOf(state)
		}
		console.Row(w, state.Name, pending, oldest, state.Failed, state.Resting)
	}
}

func oldestOf(state operate.SourceState) string {
	if *state.Pending == 0 {
		return "-"
	}
	return time.Duration(*state.OldestSeconds * float64(time.Second)).Round(time.Millisecond).String()
}
