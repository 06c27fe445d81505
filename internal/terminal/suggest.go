package terminal

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// KnownCommands refuses an unknown subcommand, for a command that only has subcommands.
func KnownCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // the number of letters that may be wrong, missing or added
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf(`%w; did you mean "%s"?`, err, strings.Join(near, `" or "`))
	}
	return err
}

// FlagError reports an unknown command first: the command's flags are unknown only for this reason.
func FlagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := KnownCommands(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return err
}
