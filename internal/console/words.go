package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// word is the value of a flag that takes one of the allowed words.
type word[T ~string] struct {
	target  *T
	allowed []T
}

// WordFlag adds a flag that takes one of the allowed words, in upper or lower
// case. The usage is followed by the words.
func WordFlag[T ~string](cmd *cobra.Command, target *T, name string, allowed []T, usage string) {
	cmd.Flags().Var(word[T]{target, allowed}, name, usage+": "+Join(allowed))
	completeWords(cmd, name, allowed)
}

func (w word[T]) Set(value string) (err error) {
	*w.target, err = parseWord(value, w.allowed)
	return err
}

func (w word[T]) String() string {
	if w.target == nil {
		return ""
	}
	return string(*w.target)
}

func (w word[T]) Type() string { return "word" }

// wordList is the value of a flag that takes several of the allowed words.
type wordList[T ~string] struct {
	target  *[]T
	allowed []T
}

// WordsFlag adds a flag that takes several of the allowed words, separated by
// commas or given one by one.
func WordsFlag[T ~string](cmd *cobra.Command, target *[]T, name string, allowed []T, usage string) {
	cmd.Flags().Var(wordList[T]{target, allowed}, name, usage+": "+Join(allowed))
	completeWords(cmd, name, allowed)
}

func (l wordList[T]) Set(value string) error {
	for text := range strings.SplitSeq(value, ",") {
		word, err := parseWord(text, l.allowed)
		if err != nil {
			return err
		}
		if !slices.Contains(*l.target, word) {
			*l.target = append(*l.target, word)
		}
	}
	return nil
}

func (l wordList[T]) String() string {
	if l.target == nil {
		return ""
	}
	return strings.ReplaceAll(Join(*l.target), " ", "")
}

func (l wordList[T]) Type() string { return "words" }

func parseWord[T ~string](text string, allowed []T) (T, error) {
	word := T(strings.ToUpper(strings.TrimSpace(text)))
	if !slices.Contains(allowed, word) {
		return "", fmt.Errorf("%q is none of %s", text, Join(allowed))
	}
	return word, nil
}

// Join is "EMAIL, SMS".
func Join[T ~string](words []T) string {
	texts := make([]string, 0, len(words))
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return strings.Join(texts, ", ")
}
