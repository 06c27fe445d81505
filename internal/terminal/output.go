// Package terminal handles the input and output of commands: tables or JSON, progress, ages and
// times, completion. It does not know the types that commands print.
package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// Format is the format of printed results.
type Format string

const (
	Table Format = "table"
	JSON  Format = "json"
)

// Output writes results to Out, and notes about them to Err.
type Output struct {
	Format   Format
	Out, Err io.Writer
}

// AddFlag adds --output to a command and its subcommands.
func (o *Output) AddFlag(cmd *cobra.Command) {
	o.Format = Table
	cmd.PersistentFlags().VarP(&Value{Kind: "format", Text: string(Table), Read: func(text string) (string, error) {
		if o.Format = Format(text); o.Format != Table && o.Format != JSON {
			return "", errors.New("must be table or json")
		}
		return text, nil
	}}, "output", "o", "how to print results: table or json")
	Complete(cmd, "output", cobra.FixedCompletions([]string{string(Table), string(JSON)}, cobra.ShellCompDirectiveNoFileComp))
}

// Print writes value as JSON, or calls text, which writes columns separated by tabs.
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

// printJSON escapes characters that a terminal obeys: encoding/json does not escape C1 controls and
// marks of writing direction. They occur only in strings, so the value stays the same.
func (o *Output) printJSON(value any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return o.WriteJSON(text.String())
}

// WriteJSON writes a text in JSON, which may be a part of a value, with the same escapes.
func (o *Output) WriteJSON(text string) error {
	var escaped strings.Builder
	for _, r := range text {
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

// Note prints a note for the operator to Err.
func (o *Output) Note(format string, args ...any) {
	_, _ = fmt.Fprintln(o.Err, Printable(fmt.Sprintf(format, args...)))
}

// progressInterval is the time between two lines of progress.
const progressInterval = 2 * time.Second

// ProgressLine prints the latest line that was set, every two seconds until stop is called.
func (o *Output) ProgressLine(first string) (set func(line string), stop func()) {
	var latest atomic.Value
	latest.Store(first)
	return func(line string) { latest.Store(line) }, o.Progress(func() string { return latest.Load().(string) })
}

// Progress prints a line every two seconds until stop is called. It calls line in another
// goroutine.
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
