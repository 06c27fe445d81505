// Package terminal is how commands read and write a terminal: tables or JSON,
// progress, ages and times, completion. It knows nothing of what they print.
package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// Format is how results are printed.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// Output writes results to Out, and what accompanies them to Err.
type Output struct {
	Format   Format
	Out, Err io.Writer
}

// AddFlag adds --output to a command and to those below it.
func (o *Output) AddFlag(cmd *cobra.Command) {
	o.Format = Table
	cmd.PersistentFlags().VarP(&Value{Kind: "format", Text: string(Table), Read: func(text string) (string, error) {
		if o.Format = Format(text); o.Format != Table && o.Format != JSON {
			return "", errors.New("must be table or json")
		}
		return text, nil
	}}, "output", "o", "how to print results: table or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(Table), string(JSON)},
		cobra.ShellCompDirectiveNoFileComp)) // it fails only for a flag that there is not
}

// Print writes value as JSON, or what text writes, whose columns are separated
// by tabs.
func (o *Output) Print(value any, text func(w io.Writer)) error {
	if o.Format == JSON {
		return o.printJSON(value)
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	text(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printJSON escapes what a terminal would obey: encoding/json leaves C1 controls and marks
// of writing direction as they are. They are in strings alone, so the value is the same.
func (o *Output) printJSON(value any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	var escaped strings.Builder
	for _, r := range text.String() {
		if r != '\n' && obeyed(r) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	if _, err := io.WriteString(o.Out, escaped.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Note tells the operator something in addition to the result.
func (o *Output) Note(format string, args ...any) {
	_, _ = fmt.Fprintln(o.Err, Printable(fmt.Sprintf(format, args...)))
}

// progressInterval is between two lines of progress.
const progressInterval = 2 * time.Second

// Progress notes a line every two seconds until stop is called. Another goroutine
// calls line.
func (o *Output) Progress(line func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				o.Note("%s", line())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
