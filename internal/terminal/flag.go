package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Value is the value of a flag. It keeps its error for [FlagErrors], so that a command reports all
// wrong flags, not only the first.
type Value struct {
	Kind string                                         // shown by --help
	Text string                                         // the text to record; initially the default
	Read func(text string) (recorded string, err error) // called each time the flag is given

	err error
}

// Set is called by the flag parser.
func (v *Value) Set(text string) error {
	if v.err != nil {
		return nil
	}
	if v.Text, v.err = v.Read(text); v.err != nil {
		v.Text = text
	}
	return nil
}

func (v *Value) String() string { return v.Text }

// Type returns the kind, which --help shows.
func (v *Value) Type() string { return v.Kind }

// FlagErrors returns the errors of all flags that were given.
func FlagErrors(flags *pflag.FlagSet) error {
	var wrong []error
	flags.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*Value); ok && v.err != nil {
			wrong = append(wrong, fmt.Errorf("invalid argument %q for %q flag: %w", v.Text, "--"+f.Name, v.err))
		}
	})
	return errors.Join(wrong...)
}

// TextFlag adds a flag that refuses an empty text. Otherwise a filter by an unset variable of a
// script would select everything.
func TextFlag(flags *pflag.FlagSet, target *string, name, usage string) {
	flags.Var(&Value{Kind: "string", Read: func(text string) (string, error) {
		if *target = text; text == "" {
			return "", errors.New("it is empty: give it a value, or leave it out")
		}
		return text, nil
	}}, name, usage)
}

// The default and the largest number of listed rows.
const (
	defaultListed = 50
	maxListed     = 1000
)

// LimitFlag adds --limit, the number of rows that a list prints.
func LimitFlag(flags *pflag.FlagSet, limit *int) {
	*limit = defaultListed
	flags.Var(&Value{Kind: "int", Text: strconv.Itoa(defaultListed), Read: func(text string) (_ string, err error) {
		if *limit, err = strconv.Atoi(text); err != nil || *limit < 1 || *limit > maxListed {
			return "", fmt.Errorf("must be from 1 to %d", maxListed)
		}
		return text, nil
	}}, "limit", fmt.Sprintf("how many to list, up to %d", maxListed))
}

// WordFlag adds a flag that takes one of the allowed words, in upper or lower case. It appends the
// words to the usage.
func WordFlag[T ~string](cmd *cobra.Command, target *T, name string, allowed []T, usage string) {
	cmd.Flags().Var(&Value{Kind: "word", Read: func(text string) (_ string, err error) {
		*target, err = parseWord(text, allowed)
		return string(*target), err
	}}, name, usage+": "+Join(allowed))
	completeWords(cmd, name, allowed)
}

// WordsFlag adds a flag that takes several of the allowed words, separated by commas or in several
// flags.
func WordsFlag[T ~string](cmd *cobra.Command, target *[]T, name string, allowed []T, usage string) {
	cmd.Flags().Var(&Value{Kind: "words", Read: func(texts string) (string, error) {
		for text := range strings.SplitSeq(texts, ",") {
			word, err := parseWord(text, allowed)
			if err != nil {
				return "", err
			}
			if !slices.Contains(*target, word) {
				*target = append(*target, word)
			}
		}
		return strings.ReplaceAll(Join(*target), " ", ""), nil
	}}, name, usage+": "+Join(allowed))
	completeWords(cmd, name, allowed)
}

func parseWord[T ~string](text string, allowed []T) (T, error) {
	word := T(strings.ToUpper(strings.TrimSpace(text)))
	if !slices.Contains(allowed, word) {
		return "", fmt.Errorf("%q is none of %s", text, Join(allowed))
	}
	return word, nil
}

// Join returns the words separated by commas, such as "EMAIL, SMS".
func Join[T ~string](words []T) string {
	texts := make([]string, 0, len(words))
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return strings.Join(texts, ", ")
}

const (
	// completionTimeout is the time that a shell waits for ids.
	completionTimeout = 2 * time.Second
	// completedIDs is the highest number of ids that a shell offers.
	completedIDs = 50
)

// Require makes flags of cmd required.
func Require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		_ = cmd.MarkFlagRequired(name) // this fails only if the flag does not exist
	}
}

// Complete sets the function that completes a flag of cmd.
func Complete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete) // this fails only if the flag does not exist
}

// completeWords offers words for a flag, also after a comma.
func completeWords[T ~string](cmd *cobra.Command, flag string, allowed []T) {
	Complete(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		begun := typed[strings.LastIndex(typed, ",")+1:]
		before := strings.TrimSuffix(typed, begun)
		var offered []string
		for _, word := range allowed {
			if strings.HasPrefix(string(word), strings.ToUpper(begun)) {
				offered = append(offered, before+string(word))
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteIDs offers the ids that read finds, except ids that were typed already. If read fails, it
// offers nothing: a shell cannot show an error.
func CompleteIDs(read func(ctx context.Context, typed string, limit int) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		ids, _ := read(ctx, typed, completedIDs)
		offered := slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(args, id) || Printable(id) != id })
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteOne completes only the first argument, for commands with a single argument.
func CompleteOne(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}
