package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
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

// judgement is what became of a goal.
type judgement struct {
	Figure  string  `json:"figure"`
	ToReach string  `json:"to_reach"`
	Value   float64 `json:"value"`
	Reached bool    `json:"reached"`
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

// judge compares what was found with what is to be reached. A goal that needs a case which did
// not run is left out.
func (r *tableReport) judge(all []*comparison) {
	for i := range r.Cases {
		result := &r.Cases[i]
		c := all[slices.IndexFunc(all, func(c *comparison) bool { return c.name == result.Name })]
		for _, g := range c.goals {
			a, _ := named(result.found[0], g.figure)
			b, has := r.beside(result, g)
			if has {
				result.Goals = append(result.Goals, g.judge(a, b))
			}
		}
	}
}

// beside is what a goal compares with.
func (r *tableReport) beside(result *caseResult, g goal) (series, bool) {
	other := cmp.Or(g.other, g.figure)
	if g.beside == "" {
		return named(result.found[1], other)
	}
	i := slices.IndexFunc(r.Cases, func(c caseResult) bool { return c.Name == g.beside })
	if i < 0 {
		return series{}, false
	}
	return named(r.Cases[i].found[0], other)
}

// judge compares the medians of two cases, whose rounds are no pairs, and otherwise takes the
// ratio of the pairs.
func (g goal) judge(a, b series) judgement {
	of := a.Median / b.Median
	if pairs := ratio(a, b); pairs != nil && g.beside == "" {
		of = pairs.Median
	}
	j := judgement{Figure: g.figure, Value: of}
	beside := "B"
	if g.beside != "" {
		beside = "A of " + g.beside
	}
	switch {
	case g.least > 0:
		j.ToReach, j.Reached = fmt.Sprintf("≥ %s × %s", number(g.least), beside), of >= g.least
	case g.most > 0:
		j.ToReach, j.Reached = fmt.Sprintf("≤ %s × %s", number(g.most), beside), of <= g.most
	default:
		j.Value = a.Median - b.Median
		j.ToReach, j.Reached = fmt.Sprintf("≤ %s + %s %s", beside, number(g.more), a.Unit), j.Value <= g.more
	}
	return j
}

// print prints the table: a line for each figure, those that are to reach something first.
func (r *tableReport) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", r.machine())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range r.Cases {
		fmt.Fprintf(w, "\n%s: %d pairs, %.0f s\n  A: %s\n  B: %s\n", c.Name, c.Pairs, c.Seconds, c.A, c.B)
		fmt.Fprintln(w, "  FIGURE\tA\t\tB\t\tA/B\t\tTO REACH\t")
		for _, f := range c.Figures {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", f.label(), f.A.middle(), f.A.spread(), f.B.middle(), f.B.spread(), f.Ratio.middle(), f.Ratio.spread(), c.goalsOf(f.Name))
		}
		_ = w.Flush() // out is a terminal or a buffer
	}
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
