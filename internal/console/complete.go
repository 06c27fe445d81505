package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	// completionTimeout is how long a shell waits for ids.
	completionTimeout = 2 * time.Second
	// completedIDs is how many ids a shell is offered.
	completedIDs = 50
)

// completeWords offers words for a flag, also after a comma.
func completeWords[T ~string](cmd *cobra.Command, flag string, allowed []T) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		begun := typed[strings.LastIndex(typed, ",")+1:]
		before := strings.TrimSuffix(typed, begun)
		var offered []string
		for _, word := range allowed {
			if strings.HasPrefix(string(word), strings.ToUpper(begun)) {
				offered = append(offered, before+string(word))
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for a flag that does not exist
}

// CompleteIDs offers the ids that read finds, except those that are named already.
// Where read fails it offers nothing: a shell has no place for an error.
func CompleteIDs(read func(ctx context.Context, typed string, limit int) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		ids, _ := read(ctx, typed, completedIDs)
		offered := slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(args, id) || Printable(id) != id })
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteOne is for commands that take a single argument.
func CompleteOne(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}
