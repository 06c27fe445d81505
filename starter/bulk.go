package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/operate"
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

// check refuses ids beside filters, and neither.
func (f *bulkFlags) check(verb operate.Verb, filters string, ids []string, filtered bool) error {
	switch {
	case len(ids) > 0 && filtered:
		return misused(errors.New("name ids or filters, not both"))
	case len(ids) == 0 && !filtered:
		return misused(fmt.Errorf("name what to %s: ids, or filters such as %s", verb.Name, filters))
	case len(ids) > 0 && f.after != "":
		return misused(errors.New("--after goes with filters"))
	}
	return nil
}

// confirm refuses to change many without --yes.
func (f *bulkFlags) confirm(verb operate.Verb, count int) error {
	if count <= maxUnasked || f.yes || f.dryRun {
		return nil
	}
	return misused(fmt.Errorf("%s would change, and nothing did: to %s more than %d at once add --yes, to look first --dry-run",
		countOf(verb.Noun, count), verb.Name, maxUnasked))
}

// namedCommand completes a command that does a verb to what is named by ids.
func (a *app) namedCommand(cmd *cobra.Command, ids cobra.CompletionFunc, verb func() (operate.Verb, error)) *cobra.Command {
	var flags bulkFlags
	flags.register(cmd)
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.ValidArgsFunction = ids
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		verb, err := verb()
		if err != nil {
			return err
		}
		return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error { return a.named(ctx, o, verb, ids, flags) })
	})
	return cmd
}

// named does a verb to what is named by ids.
func (a *app) named(ctx context.Context, o *operate.Operator, verb operate.Verb, ids []string, flags bulkFlags) error {
	if err := flags.confirm(verb, len(ids)); err != nil {
		return err
	}
	options, stop := a.options(verb, flags, len(ids))
	summary, err := o.Named(ctx, verb, ids, options)
	stop()
	return a.reportNamed(verb, summary, err)
}

// reportNamed prints what became of each. Unless the verb was done to all, it
// returns an error; err is what stopped it.
func (a *app) reportNamed(verb operate.Verb, summary operate.Summary, err error) error {
	if summary.Matched == 1 && len(summary.Items) == 1 && summary.Items[0].Err != nil { // its own words and advice are better than a count
		return summary.Items[0].Err
	}
	if summary.Matched > 1 || summary.Done > 0 || a.Format == console.JSON {
		if printErr := a.Print(summary, func(w io.Writer) { printItems(w, summary) }); printErr != nil {
			return printErr
		}
	}
	if err != nil {
		return fmt.Errorf("after %d of %s: %w", summary.Tried(), countOf(verb.Noun, summary.Matched), err)
	}
	return a.refusal(verb, summary)
}

// selected does a verb to a selection.
func (a *app) selected(ctx context.Context, o *operate.Operator, verb operate.Verb, of operate.Selection, flags bulkFlags) error {
	a.Note("%s", matchText(verb.Noun, of.Matched))
	if of.After != "" {
		a.Note("going on behind %s", of.After)
	}
	if err := flags.confirm(verb, of.Matched); err != nil {
		return err
	}
	options, stop := a.options(verb, flags, of.Matched)
	summary, err := o.Selected(ctx, verb, of, options)
	stop()
	return a.reportSelected(verb, summary, err)
}

// reportSelected prints counts. Its error says what to do about those that failed
// or were not reached; err is what stopped the verb.
func (a *app) reportSelected(verb operate.Verb, summary operate.Summary, err error) error {
	if summary.DryRun && err != nil {
		return err
	}
	if printErr := a.Print(summary, func(w io.Writer) { printSummary(w, summary) }); printErr != nil {
		return printErr
	}
	failed := fmt.Errorf("%s failed", countOf(verb.Noun, summary.Failed))
	through := fmt.Sprintf("%s of %s are through", console.Grouped(summary.Tried()), countOf(verb.Noun, summary.Matched))
	next := "run it again with --after " + advice.Quote(summary.Through)
	switch {
	case errors.Is(err, context.Canceled):
		return advice.With(fmt.Errorf("interrupted: %s", through), next)
	case err != nil:
		return advice.With(fmt.Errorf("stopped: %s: %w", through, err), next)
	case summary.Failed > 0 && verb.Repeats:
		return advice.With(failed, "mend the cause, and name those that failed: the others would be done once more")
	case summary.Failed > 0:
		return advice.With(failed, "mend the cause, and run it again: what was done is not done twice")
	}
	return nil
}

// options have the progress of many printed until stop is called.
func (a *app) options(verb operate.Verb, flags bulkFlags, total int) (options operate.Options, stop func()) {
	options.DryRun = flags.dryRun
	if total <= 1 {
		return options, func() {}
	}
	var line atomic.Value
	options.Progress = func(tried int, through string) { line.Store(progressText(verb, tried, total, through)) }
	options.Progress(0, flags.after)
	return options, a.Progress(func() string { return line.Load().(string) })
}

func progressText(verb operate.Verb, tried, total int, through string) string {
	line := fmt.Sprintf("%s of %s", console.Grouped(tried), countOf(verb.Noun, total))
	if through != "" {
		line += ", up to " + through
	}
	return line
}

// refusal is the error of a verb that was not done to all; nil: it was.
func (a *app) refusal(verb operate.Verb, summary operate.Summary) error {
	first := slices.IndexFunc(summary.Items, func(o operate.Outcome) bool { return !o.Done })
	if first < 0 {
		return nil
	}
	item := summary.Items[first]
	err := fmt.Errorf("%d of %s: not done", summary.Matched-summary.Done, countOf(verb.Noun, summary.Matched))
	if summary.Matched == 1 {
		err = fmt.Errorf("%s %s", item.ID, item)
	}
	return advice.With(err, cmp.Or(item.Next, a.nextStep(item.Err)))
}

func printSummary(w io.Writer, s operate.Summary) {
	if s.DryRun {
		printItems(w, s)
		return
	}
	console.Row(w, "matched", console.Grouped(s.Matched))
	console.Row(w, "done", console.Grouped(s.Done))
	for _, why := range slices.Sorted(maps.Keys(s.Skipped)) {
		console.Row(w, "skipped", console.Grouped(s.Skipped[why]), why)
	}
	console.Row(w, "failed", console.Grouped(s.Failed))
	for _, text := range s.Errors {
		console.Row(w, "", "", text)
	}
}

// printItems prints those that were looked at; of what was matched there may be
// more.
func printItems(w io.Writer, s operate.Summary) {
	for _, item := range s.Items {
		console.Row(w, item.ID, item.Result, item.Detail)
	}
	if more := s.Matched - len(s.Items); more > 0 {
		console.Row(w, fmt.Sprintf("… and %s more", console.Grouped(more)))
	}
	if s.DryRun {
		console.Row(w, "nothing was changed")
	}
}

// countOf is 1,234 deliveries.
func countOf(noun operate.Noun, count int) string {
	if count == 1 {
		return "1 " + noun.One
	}
	return console.Grouped(count) + " " + noun.Many
}

func matchText(noun operate.Noun, count int) string {
	if count == 1 {
		return countOf(noun, 1) + " matches"
	}
	return countOf(noun, count) + " match"
}
