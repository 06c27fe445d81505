package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

// format is how results are printed.
type format string

const (
	table  format = "table"
	inJSON format = "json"
)

// Set is called by the flag parser.
func (f *format) Set(value string) error {
	switch format(value) {
	case table, inJSON:
		*f = format(value)
		return nil
	default:
		return fmt.Errorf("must be table or json")
	}
}

func (f *format) String() string { return string(*f) }

// Type is shown by --help.
func (f *format) Type() string { return "format" }

// print writes value as JSON, or what text writes, whose columns are separated
// by tabs.
func (a *app) print(value any, text func(w io.Writer)) error {
	if a.output == inJSON {
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	text(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// row writes one line of a table, whose cells are values: see [printable].
func row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(w, "\t")
		}
		_, _ = fmt.Fprint(w, printable(fmt.Sprint(cell)))
	}
	_, _ = fmt.Fprintln(w)
}

// note tells the operator something beside the result.
func (a *app) note(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, printable(fmt.Sprintf(format, args...)))
}

// clock prints a time, or "-" where there is none.
func clock(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000Z")
}

// dash prints a word, or "-" where there is none.
func dash[T ~string](word T) T {
	if word == "" {
		return "-"
	}
	return word
}

var needsNoQuotes = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted is an id in a command that can be pasted into a shell.
func quoted(id string) string {
	if needsNoQuotes.MatchString(id) {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}
