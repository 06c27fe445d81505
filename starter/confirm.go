package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
)

// confirmation holds the flags of a command that needs --yes, because it changes many rows.
type confirmation struct{ dryRun, yes bool }

// register adds the flags. verb is the change, such as erase.
func (c *confirmation) register(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "count the rows, and "+verb+" nothing")
	cmd.Flags().BoolVar(&c.yes, "yes", false, verb+" the rows that --dry-run counts")
}

// rowChange is a planned change of many rows.
type rowChange[T any] struct {
	verb, done string // such as erase and erased
	plan       T
	rows       string // the number of rows that match
	idle       bool   // nothing matches
	print      func(io.Writer, T)
	do         func(set func(progress string)) (T, error)
}

// confirmed makes a change and prints the result, also after an error. With --dry-run it only
// prints the plan.
func confirmed[T any](a *app, flags confirmation, c rowChange[T]) error {
	if flags.dryRun || c.idle {
		return show(a, c.plan, nil, c.print)
	}
	if !flags.yes {
		return misused(fmt.Errorf("nothing %s: %s rows match; repeat with --yes to %s them", c.done, c.rows, c.verb))
	}
	set, stop := a.ProgressLine("")
	result, changeErr := c.do(set)
	stop()
	if err := show(a, result, nil, c.print); err != nil || changeErr == nil {
		return err
	}
	return advice.With(fmt.Errorf("stopped: %w", changeErr), "run it again: it continues with the remaining rows")
}
