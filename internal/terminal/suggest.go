package terminal

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// KnownCommands refuses an argument of a command that only holds others.
func KnownCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // letters that may be wrong, missing or too many
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf(`%w; did you mean "%s"?`, err, strings.Join(near, `" or "`))
	}
	return err
}

// FlagError names an unknown command first: its flags are unknown for that alone.
func FlagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := KnownCommands(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return err
}
