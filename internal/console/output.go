// Package console is how commands read and write a terminal: tables or JSON,
// progress, ages and times, completion. It knows nothing of what they print.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Format is how results are printed. It is the value of a flag.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// Set is called by the flag parser.
func (f *Format) Set(value string) error {
	switch format := Format(value); format {
	case Table, JSON:
		*f = format
		return nil
	default:
		return fmt.Errorf("must be table or json")
	}
}

func (f *Format) String() string { return string(*f) }

// Type is shown by --help.
func (f *Format) Type() string { return "format" }

// Output writes results to Out, and what accompanies them to Err.
type Output struct {
	Format   Format
	Out, Err io.Writer
}

// Print writes value as JSON, or what text writes, whose columns are separated
// by tabs.
func (o *Output) Print(value any, text func(w io.Writer)) error {
	if o.Format == JSON {
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	text(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Note tells the operator something beside the result.
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
