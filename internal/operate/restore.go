package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/db"
	"herald/internal/event"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// Restoring is the order to start again what Temporal has lost.
type Restoring struct {
	Rate   int // questions to Temporal a second
	DryRun bool
	Resend notification.Resend // what to do with ambiguous rows; empty: nothing
}

// flags returns the order as an operator types it.
func (r Restoring) flags() string {
	flags := fmt.Sprintf("--rate %d", r.Rate)
	if r.Resend != "" {
		flags += " --resend " + strings.ToLower(string(r.Resend))
	}
	return flags
}

// RestoreRate is the usual rate of a [Restoring].
const RestoreRate = 100

// RestoreOutcome is the effect of a [Restoring].
type RestoreOutcome struct {
	DryRun     bool     `json:"dry_run"`
	Generation int      `json:"generation"`   // of the workers that do the work
	Lost       []string `json:"lost_pollers"` // started again; with DryRun: they are to be
	workflows.RestoreResult
}

// IsWhole reports whether all that the tables want to run runs. Ambiguous rows wait for an operator.
func (r RestoreOutcome) IsWhole() bool {
	return r.Left.MissingEvents+r.Left.MissingDeliveries+r.Left.Ambiguous == 0 && (!r.DryRun || len(r.Lost) == 0)
}

// Restore makes a Temporal that has lost Herald's workflows, or all of its data, run what the tables say:
// search attributes, generation, schedules, pollers, and then the workflow of each open row. A worker does
// the last part. If ctx ends meanwhile, the worker continues, and the next call joins it. say gets the progress.
func (o *Operator) Restore(ctx context.Context, in Restoring, say func(notification.Restored)) (outcome RestoreOutcome, err error) {
	outcome.DryRun = in.DryRun
	order := workflows.RestoreInput{Rate: in.Rate, DryRun: in.DryRun, Resend: in.Resend}
	if !in.DryRun {
		if err := o.Record(ctx, in.flags(), workflows.RestoreID(o.Launcher.Prefix, order)); err != nil {
			return outcome, err
		}
	}
	if err := launch.RegisterSearchAttributes(ctx, o.temporal(), o.Launcher.Namespace); err != nil {
		return outcome, err
	}
	if outcome.Generation, err = o.currentGeneration(ctx); err != nil {
		return outcome, err
	}
	lost, err := LostPollers(ctx, o.Launcher, o.DB)
	if err != nil {
		return outcome, err
	}
	for _, poller := range lost {
		outcome.Lost = append(outcome.Lost, workflows.PollerID(o.Launcher.Prefix, poller.Source, poller.Number))
	}
	if !in.DryRun {
		if err := o.startPermanent(ctx, lost); err != nil {
			return outcome, err
		}
	}
	run, err := o.Launcher.StartRestore(ctx, order)
	if err != nil {
		return outcome, err
	}
	outcome.RestoreResult, err = awaitOrder[workflows.RestoreResult](ctx, o.temporal(), run, say)
	return outcome, err
}

// currentGeneration returns the generation that gets the tasks. If Temporal has forgotten it, the newest
// generation that polls becomes current.
func (o *Operator) currentGeneration(ctx context.Context) (int, error) {
	all, err := o.Launcher.Generations(ctx)
	switch {
	case err != nil || all.Current > 0:
		return all.Current, err
	case len(all.Seen) == 0:
		return 0, advice.With(errors.New("no worker polls Temporal"), "start the workers, and run it again")
	default:
		promoted, err := o.Promote(ctx, Promotion{Generation: all.Seen[0]})
		return promoted.Generation, err
	}
}

// startPermanent starts the workflows that always run. The worker schedules the cleaning, whose settings
// it has.
func (o *Operator) startPermanent(ctx context.Context, lost []event.Poller) error {
	if err := o.Launcher.ScheduleSweep(ctx); err != nil {
		return err
	}
	if err := o.Launcher.StartFollowUp(ctx); err != nil {
		return err
	}
	for _, poller := range lost {
		in := workflows.PollInput{Source: poller.Source, PausedSince: poller.PausedSince}
		if err := o.Launcher.StartPoller(ctx, poller.Number, in, false); err != nil {
			return err
		}
	}
	return nil
}

// progressInterval is the time between two looks at the progress of a workflow.
const progressInterval = time.Second

// awaitOrder waits for the end of a workflow that an operator has ordered. say gets its progress.
func awaitOrder[Result, Progress any](
	ctx context.Context, temporal client.Client, run client.WorkflowRun, say func(Progress),
) (Result, error) {
	type end struct {
		result Result
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		e.err = run.Get(ctx, &e.result)
		ended <- e
	}()
	for {
		select {
		case e := <-ended:
			if e.err != nil {
				e.err = advice.With(fmt.Errorf("wait for %s: %w", run.GetID(), e.err), "a worker continues; run it again to see the result")
			}
			return e.result, e.err
		case <-time.After(progressInterval):
			if progress, err := launch.Progress[Progress](ctx, temporal, run.GetID()); err == nil {
				say(progress)
			}
		}
	}
}

// LostPollers returns the pollers that operators want to run, and that Temporal does not know. Temporal
// knows a poller that ended, until its retention is over.
func LostPollers(ctx context.Context, launcher *launch.Launcher, d *db.DB) (lost []event.Poller, err error) {
	wanted, err := event.On(d).Pollers(ctx)
	if err != nil {
		return nil, err
	}
	for _, poller := range wanted {
		found, err := readPoller(ctx, launcher, workflows.PollerID(launcher.Prefix, poller.Source, poller.Number))
		if err != nil {
			return nil, err
		}
		if found.Status == PollerNotStarted {
			lost = append(lost, poller)
		}
	}
	return lost, nil
}
