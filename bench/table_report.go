package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"
	"time"
)

// tableReport is what a run of the table found.
type tableReport struct {
	At       time.Time         `json:"at"`
	Machine  map[string]any    `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings tableSettings     `json:"settings"`
	Cases    []caseResult      `json:"cases"`
}

// caseResult is what the rounds of a case found.
type caseResult struct {
	Name    string      `json:"name"`
	A       string      `json:"a"`
	B       string      `json:"b"`
	Sizes   any         `json:"sizes"`
	Pairs   int         `json:"pairs"`
	Seconds float64     `json:"seconds"`
	Figures []compared  `json:"figures"`
	Goals   []judgement `json:"goals"`
	found   [2][]series
}

// compared is a figure of both sides. One of them may not have it.
type compared struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	A     *series `json:"a,omitempty"`
	B     *series `json:"b,omitempty"`
	Ratio *series `json:"ratio,omitempty"` // A/B of each pair
}

func newCaseResult(c *comparison, found [2][]*figures, took time.Duration) caseResult {
	r := caseResult{Name: c.name, A: c.a, B: c.b, Sizes: c.sizes, Pairs: len(found[0]), Seconds: math.Round(took.Seconds())}
	r.found = [2][]series{seriesOf(found[0]), seriesOf(found[1])}
	for _, a := range r.found[0] {
		both := compared{Name: a.Name, Unit: a.Unit, A: &a}
		if b, has := named(r.found[1], a.Name); has {
			both.B, both.Ratio = &b, ratio(a, b)
		}
		r.Figures = append(r.Figures, both)
	}
	for _, b := range r.found[1] {
		if _, has := named(r.found[0], b.Name); !has {
			r.Figures = append(r.Figures, compared{Name: b.Name, Unit: b.Unit, B: &b})
		}
	}
	return r
}

// print prints the table: a line for each figure, those that are to reach something first.
func (r *tableReport) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", r.machine())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range r.Cases {
		fmt.Fprintf(w, "\n%s: %s, %.0f s\n  A: %s\n  B: %s\n", c.Name, c.pairs(), c.Seconds, c.A, c.B)
		fmt.Fprintln(w, "  FIGURE\tA\t\tB\t\tA/B\t\tTO REACH\t")
		for _, f := range c.Figures {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.label(), f.A.middle(), f.A.spread(), f.B.middle(), f.B.spread(), f.Ratio.middle(), f.Ratio.spread(), c.goalsOf(f.Name))
		}
		_ = w.Flush() // out is a terminal or a buffer
	}
}

// pairs is how many counted.
func (c caseResult) pairs() string {
	if c.Pairs == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", c.Pairs)
}

// label is the figure with its unit.
func (f compared) label() string {
	if f.Unit == "" {
		return f.Name
	}
	return f.Name + ", " + f.Unit
}

// goalsOf says what a figure is to reach, and whether it does.
func (c caseResult) goalsOf(figure string) (text string) {
	for _, j := range c.Goals {
		if j.Figure != figure {
			continue
		}
		word := "missed"
		if j.Reached {
			word = "reached"
		}
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s: %s (%s)", j.ToReach, word, number(j.Value))
	}
	return text
}

func (s *series) middle() string {
	if s == nil {
		return "-"
	}
	return number(s.Median)
}

func (s *series) spread() string {
	if s == nil || len(s.Rounds) < 2 || s.Min == s.Max {
		return ""
	}
	return "(" + number(s.Min) + "–" + number(s.Max) + ")"
}

// number prints three significant digits, or all digits before the point.
func number(f float64) string {
	if math.Abs(f) >= 100 || f == 0 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(f))))
	return strconv.FormatFloat(f, 'f', min(digits, 4), 64)
}

// save writes all figures to a file.
func (r *tableReport) save(s tableSettings, out io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(s.file, append(text, '\n'), 0o644)
	}
	if err == nil {
		fmt.Fprintln(out, "\nwritten to "+s.file)
	}
	return err
}

func newTableReport(ctx context.Context, s tableSettings) *tableReport {
	return &tableReport{At: time.Now().UTC(), Machine: machine(), Versions: versions(ctx), Settings: s}
}
