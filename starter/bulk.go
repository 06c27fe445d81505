package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// maxUnasked is the maximum number of deliveries or events to change without --yes.
const maxUnasked = 100

// bulkFlags are the flags of the commands that can change many rows in one call.
type bulkFlags struct {
	dryRun, yes bool
	after       string // only with filters
}

// verbCommand is a command that applies a verb to the ids in its arguments, or to the rows that its
// filters match.
type verbCommand struct {
	ids  cobra.CompletionFunc
	verb func(ids []string, flags bulkFlags) (operate.Verb, error)
	warn func(ctx context.Context, o *operate.Operator) // prints what could keep the verb from working; nil: nothing could

	// The rest is for commands with filters.
	examples string // for a usage error: --event or --channel
	filtered func() bool
	selects  func(ctx context.Context, o *operate.Operator, after string) (operate.Selection, error)
}

// always returns a function that returns verb for all ids and flags.
func always(verb operate.Verb) func([]string, bulkFlags) (operate.Verb, error) {
	return func([]string, bulkFlags) (operate.Verb, error) { return verb, nil }
}

// verbCommand completes a command.
func (a *app) verbCommand(cmd *cobra.Command, v verbCommand) *cobra.Command {
	var flags bulkFlags
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "change more than 100 at once")
	cmd.Args, cmd.ValidArgsFunction = cobra.MinimumNArgs(1), v.ids
	if v.selects != nil {
		cmd.Flags().StringVar(&flags.after, "after", "", afterUsage)
		cmd.Args = cobra.ArbitraryArgs
	}
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		if err := v.check(cmd.Name(), ids, flags.after); err != nil {
			return misused(err)
		}
		verb, err := v.verb(ids, flags)
		if err != nil {
			return err
		}
		return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
			if v.warn != nil {
				v.warn(ctx, o)
			}
			to := operate.SelectIDs(ids)
			if len(ids) == 0 {
				if to, err = v.selects(ctx, o, flags.after); err != nil {
					return err
				}
			}
			return verbRun{&a.Output, o, verb, to, flags}.do(ctx)
		})
	})
	return cmd
}

// check refuses a call with both ids and filters, and a call with neither.
func (v verbCommand) check(name string, ids []string, after string) error {
	switch filtered := v.filtered != nil && v.filtered(); {
	case len(ids) > 0 && filtered:
		return errors.New("name ids or filters, not both")
	case len(ids) == 0 && !filtered:
		return fmt.Errorf("name what to %s: ids, or filters such as %s", name, v.examples)
	case len(ids) > 0 && after != "":
		return errors.New("--after needs filters, not ids")
	}
	return nil
}

// verbRun is one run of a verb over a selection.
type verbRun struct {
	*terminal.Output
	operator *operate.Operator
	verb     operate.Verb
	to       operate.Selection
	flags    bulkFlags
}

// do applies the verb, and prints the result.
func (r verbRun) do(ctx context.Context) error {
	if !r.to.Named {
		r.Note("%s", matchText(r.verb.Noun, r.to.Matched))
	}
	if r.to.After != "" {
		r.Note("continuing after %s", r.to.After)
	}
	if r.flags.dryRun {
		return r.report(r.operator.DryRun(ctx, r.verb, r.to))
	}
	if r.to.Matched > maxUnasked && !r.flags.yes {
		return misused(fmt.Errorf("nothing changed: %s match; to %s more than %d at once, add --yes; to see them first, add --dry-run",
			countOf(r.verb.Noun, r.to.Matched), r.verb.Name, maxUnasked))
	}
	set, stop := r.ProgressLine(r.progress(operate.Summary{Matched: r.to.Matched, Through: r.to.After}))
	summary, err := r.operator.Do(ctx, r.verb, r.to, func(s operate.Summary) { set(r.progress(s)) })
	stop()
	return r.report(summary, err)
}

func (r verbRun) progress(s operate.Summary) string {
	text := fmt.Sprintf("%s of %s", terminal.Grouped(s.Tried()), countOf(r.verb.Noun, s.Matched))
	if s.Through != "" {
		text += ", up to " + s.Through
	}
	return text
}

// report prints a summary; err is the error that stopped the verb. It returns an error that says
// what to do about the ids that are not done.
func (r verbRun) report(s operate.Summary, err error) error {
	if err != nil && s.DryRun {
		return err
	}
	if alone := r.to.Named && s.Matched == 1 && s.Done == 0; !alone || r.Format == terminal.JSON { // the error has all details
		if printErr := r.Print(s, func(w io.Writer) { printSummary(w, s) }); printErr != nil {
			return printErr
		}
	}
	failed := fmt.Errorf("%s failed", countOf(r.verb.Noun, s.Failed))
	switch {
	case err != nil && r.to.Named:
		return fmt.Errorf("stopped after %s: %w", r.progress(s), err)
	case err != nil:
		return advice.With(fmt.Errorf("stopped after %s: %w", r.progress(s), err), "run it again with --after "+advice.Quote(s.Through))
	case r.to.Named:
		return r.refusal(s)
	case s.Failed > 0 && r.verb.Repeats:
		return advice.With(failed, "correct the cause, and name only the failed ids: the other ids would change again")
	case s.Failed > 0:
		return advice.With(failed, "correct the cause, and run it again: finished ids do not change twice")
	}
	return nil
}

// refusal returns an error if the verb was not done to every named id, else nil.
func (r verbRun) refusal(s operate.Summary) error {
	first := slices.IndexFunc(s.Items, func(o operate.Outcome) bool { return !o.Done() })
	if first < 0 {
		return nil
	}
	item := s.Items[first]
	err := fmt.Errorf("%d of %s: not done", s.Matched-s.Done, countOf(r.verb.Noun, s.Matched))
	switch {
	case s.Matched == 1 && item.Err != nil:
		return item.Err
	case s.Matched == 1:
		err = fmt.Errorf("%s %s", item.ID, item)
	}
	return advice.With(err, cmp.Or(item.Next(), nextStep(item.Err)))
}

// printSummary prints the outcomes, or counts if the summary has no outcomes.
func printSummary(w io.Writer, s operate.Summary) {
	if s.Items == nil {
		terminal.Row(w, "matched", terminal.Grouped(s.Matched))
		terminal.Row(w, "done", terminal.Grouped(s.Done))
		reasons := s.Skipped.Reasons()
		for _, why := range slices.Sorted(maps.Keys(reasons)) {
			terminal.Row(w, "skipped", terminal.Grouped(reasons[why]), why)
		}
		terminal.Row(w, "failed", terminal.Grouped(s.Failed))
		for _, text := range s.Errors {
			terminal.Row(w, "", "", text)
		}
		return
	}
	for _, item := range s.Items {
		terminal.Row(w, item.ID, item.Code.Result(), item.Detail())
	}
	if more := s.Matched - len(s.Items); more > 0 {
		terminal.Row(w, fmt.Sprintf("… and %s more", terminal.Grouped(more)))
	}
	if s.DryRun {
		terminal.Row(w, "nothing was changed")
	}
}

// countOf returns a text such as "1,234 deliveries".
func countOf(noun operate.Noun, count int) string {
	if count == 1 {
		return "1 " + noun.One
	}
	return terminal.Grouped(count) + " " + noun.Many
}

func matchText(noun operate.Noun, count int) string {
	if count == 1 {
		return "1 " + noun.One + " matches"
	}
	return countOf(noun, count) + " match"
}
