package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
)

// maxUnasked is how many deliveries or events a command changes without --yes.
const maxUnasked = 100

// bulkFlags are common to the commands that can change many at once.
type bulkFlags struct {
	dryRun, yes bool
	after       string
}

func (f *bulkFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and change nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it to more than 100 at once")
}

// registerAfter is for those that page through a table.
func (f *bulkFlags) registerAfter(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.after, "after", "", "go on behind this `ID`, which an earlier call of the command named when it stopped")
}

// choose refuses ids beside filters, and neither.
func (f *bulkFlags) choose(verb, filters string, ids []string, filtered bool) error {
	switch {
	case len(ids) > 0 && filtered:
		return misused(errors.New("name ids or filters, not both"))
	case len(ids) == 0 && !filtered:
		return misused(fmt.Errorf("name what to %s: ids, or filters such as %s", verb, filters))
	case len(ids) > 0 && f.after != "":
		return misused(errors.New("--after goes with filters"))
	}
	return nil
}

// job is a change to deliveries or events.
type job struct {
	verb  string // cancel
	noun  noun
	flags bulkFlags
	again bool // what was done would be done once more
	plan  func(ctx context.Context, id string) (plan, error)
	// record writes down who orders what, before anything is changed.
	record func(ctx context.Context, target, detail string) error
}

// plan is what a job makes of one delivery or event, as it is now. A dry run ends
// here, and a run begins here.
type plan struct {
	would outcome                                    // what a dry run says, and a run that changes nothing
	do    func(ctx context.Context) (outcome, error) // nil: nothing is to be changed
}

// refuse is a plan to change nothing.
func refuse(said outcome) plan { return plan{would: said} }

// selection is the rows that filters name, in the order of a key of theirs. Rows
// that come later than the command are left alone.
type selection struct {
	matched int
	page    func(ctx context.Context, after string, limit int) ([]item, error) // empty: there are no more
}

// item is one of many.
type item struct{ key, id string }

// named changes what was named by its id.
func (a *app) named(ctx context.Context, j job, ids []string) error {
	ids = distinct(ids)
	if len(ids) > maxUnasked && !j.flags.yes && !j.flags.dryRun {
		return tooMany(j, len(ids))
	}
	items := make([]item, len(ids))
	for i, id := range ids {
		items[i] = item{id, id}
	}
	run := newBulkRun(a, j, len(ids))
	run.keep = len(ids)
	stop := func() {}
	if len(ids) > 1 { // of one there is nothing to count
		stop = a.Progress(run.progress)
	}
	err := run.all(ctx, items)
	stop()
	if len(ids) == 1 && run.failure != nil { // its own words and advice are better than a count
		return run.failure
	}
	run.changes.Through = ""
	place := map[string]int{}
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(run.changes.Items, func(x, y outcome) int { return place[x.ID] - place[y.ID] })
	if len(ids) > 1 || run.changes.Done > 0 || a.Format == console.JSON {
		if printErr := a.Print(run.changes, run.changes.printItems); printErr != nil {
			return printErr
		}
	}
	if err != nil {
		return fmt.Errorf("after %d of %s: %w", run.through(), j.noun.count(len(ids)), err)
	}
	return run.changes.refusal(j)
}

// selected changes what filters name.
func (a *app) selected(ctx context.Context, j job, of selection) error {
	a.Note("%s", j.noun.match(of.matched))
	if j.flags.after != "" {
		a.Note("going on behind %s", j.flags.after)
	}
	if j.flags.dryRun {
		return a.preview(ctx, j, of)
	}
	if of.matched > maxUnasked && !j.flags.yes {
		return tooMany(j, of.matched)
	}
	if of.matched > 0 {
		if err := j.record(ctx, a.called.flags, j.noun.match(of.matched)); err != nil {
			return err
		}
	}
	run := newBulkRun(a, j, of.matched)
	stop := a.Progress(run.progress)
	err := run.pages(ctx, of)
	stop()
	if printErr := a.Print(run.changes, run.changes.print); printErr != nil {
		return printErr
	}
	left := "run it again with --after " + advice.Quote(run.changes.Through)
	switch {
	case err != nil && ctx.Err() != nil:
		return advice.With(fmt.Errorf("interrupted: %s of %s are through", console.Grouped(run.through()), j.noun.count(of.matched)), left)
	case err != nil:
		return advice.With(fmt.Errorf("stopped: %s of %s are through: %w", console.Grouped(run.through()), j.noun.count(of.matched), err), left)
	case run.changes.Failed > 0 && j.again:
		return advice.With(fmt.Errorf("%s failed", j.noun.count(run.changes.Failed)), "mend the cause, and name those that failed: the others would be done once more")
	case run.changes.Failed > 0:
		return advice.With(fmt.Errorf("%s failed", j.noun.count(run.changes.Failed)), "mend the cause, and run it again: what was done is not done twice")
	}
	return nil
}

// previewed is how many of a selection a dry run names.
const previewed = 10

func (a *app) preview(ctx context.Context, j job, of selection) error {
	page, err := of.page(ctx, j.flags.after, previewed)
	if err != nil {
		return err
	}
	result := changes{Matched: of.matched, DryRun: true, Skipped: map[string]int{}, Items: []outcome{}}
	for _, item := range page {
		plan, err := j.plan(ctx, item.id)
		if err != nil {
			return err
		}
		result.Items = append(result.Items, plan.would)
	}
	return a.Print(result, result.printItems)
}

func tooMany(j job, count int) error {
	return misused(fmt.Errorf("%s would change, and nothing did: to %s more than %d at once add --yes, to look first --dry-run",
		j.noun.count(count), j.verb, maxUnasked))
}

// distinct leaves each id once, where it comes first.
func distinct(ids []string) []string {
	var once []string
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			once = append(once, id)
		}
		seen[id] = true
	}
	return once
}
