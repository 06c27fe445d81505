package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxTypos is how many letters may be wrong, missing or too many in a long word; in a
// short one it is a third of them.
const maxTypos = 2

// DidYouMean asks for the words that are closest to a mistyped one: `; did you mean
// "show"?`. It is empty if none is close.
func DidYouMean[T ~string](typed string, words []T) string {
	var closest []string
	least := min(maxTypos, len(typed)/3)
	for _, word := range words {
		switch typos := distance(strings.ToLower(typed), strings.ToLower(string(word))); {
		case typos < least:
			least, closest = typos, []string{string(word)}
		case typos == least:
			closest = append(closest, string(word))
		}
	}
	if len(closest) == 0 {
		return ""
	}
	return `; did you mean "` + strings.Join(closest, `" or "`) + `"?`
}

// distance counts the letters that must be changed, added, left out or exchanged with
// their neighbour to make one word the other.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+1)
			if a[i-1] == b[j-1] {
				row[j] = above[j-1]
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

// KnownCommands refuses an argument of a command that only holds others.
func KnownCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), DidYouMean(args[0], names))
}

// SuggestFlags makes the commands below root, and root, ask for the flag that was meant
// by an unknown one. An unknown command comes first: its flags are unknown for that alone.
func SuggestFlags(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() {
			if unknown := KnownCommands(cmd, cmd.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		var missing *pflag.NotExistError
		if !errors.As(err, &missing) || len(missing.GetSpecifiedName()) < 2 {
			return err
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return fmt.Errorf("%w%s", err, DidYouMean("--"+missing.GetSpecifiedName(), slices.Sorted(slices.Values(names))))
	})
}
