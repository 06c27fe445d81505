package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// tableReport holds the results of a run of the table.
type tableReport struct{ Cases []caseResult }

// caseResult holds the results of a case.
type caseResult struct {
	Name    string
	A       string
	B       string
	Pairs   int
	Seconds float64
	Figures []compared
	Goals   []judgement
	found   [2][]series
}

// compared is a figure of both sides. A or B is nil if that side does not have the figure.
type compared struct {
	Name  string
	Unit  string
	A     *series
	B     *series
	Ratio *series // A/B of each pair
}

func newCaseResult(c *comparison, found [2][]*figures, took time.Duration) caseResult {
	r := caseResult{Name: c.name, A: c.a, B: c.b, Pairs: len(found[0]), Seconds: math.Round(took.Seconds())}
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

// print prints the table: a line for each figure, figures with a goal first.
func (r *tableReport) print(out io.Writer) {
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

// pairs returns the number of counted pairs as text.
func (c caseResult) pairs() string {
	if c.Pairs == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", c.Pairs)
}

// label returns the name of the figure with its unit.
func (f compared) label() string {
	if f.Unit == "" {
		return f.Name
	}
	return f.Name + ", " + f.Unit
}

// goalsOf returns a text with the goals of a figure, and whether each was reached.
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

// goal is a bound for a figure of A, compared with the same figure of B or with another case.
// Exactly one of least, most and more is set.
type goal struct {
	figure  string
	against string  // compare with A of this case; empty: with B of the same case
	other   string  // the figure to compare with; empty: the same figure
	least   float64 // minimum of A/B
	most    float64 // maximum of A/B
	more    float64 // maximum of A - B, in the figure's unit
}

// judgement is the result of a goal.
type judgement struct {
	Figure  string
	ToReach string
	Value   float64
	Reached bool
}

// judge compares the results with the goals. It leaves out a goal if it needs a case that did
// not run.
func (r *tableReport) judge(all []*comparison) {
	for i := range r.Cases {
		result := &r.Cases[i]
		c := all[slices.IndexFunc(all, func(c *comparison) bool { return c.name == result.Name })]
		for _, g := range c.goals {
			a, _ := named(result.found[0], g.figure)
			b, has := r.otherFigure(result, g)
			if has {
				result.Goals = append(result.Goals, g.judge(a, b))
			}
		}
	}
}

// otherFigure returns the figure that a goal compares with.
func (r *tableReport) otherFigure(result *caseResult, g goal) (series, bool) {
	other := cmp.Or(g.other, g.figure)
	if g.against == "" {
		return named(result.found[1], other)
	}
	i := slices.IndexFunc(r.Cases, func(c caseResult) bool { return c.Name == g.against })
	if i < 0 {
		return series{}, false
	}
	return named(r.Cases[i].found[0], other)
}

// judge compares a with b. It uses the ratios of the pairs, or the medians if a and b are from
// two cases, whose rounds are not pairs.
func (g goal) judge(a, b series) judgement {
	of := a.Median / b.Median
	if pairs := ratio(a, b); pairs != nil && g.against == "" {
		of = pairs.Median
	}
	j := judgement{Figure: g.figure, Value: of}
	other := "B"
	if g.against != "" {
		other = "A of " + g.against
	}
	switch {
	case g.least > 0:
		j.ToReach, j.Reached = fmt.Sprintf("≥ %s × %s", number(g.least), other), of >= g.least
	case g.most > 0:
		j.ToReach, j.Reached = fmt.Sprintf("≤ %s × %s", number(g.most), other), of <= g.most
	default:
		j.Value = a.Median - b.Median
		j.ToReach, j.Reached = fmt.Sprintf("≤ %s + %s %s", other, number(g.more), a.Unit), j.Value <= g.more
	}
	return j
}

// series is a figure of one side over all rounds.
type series struct {
	Name   string
	Unit   string
	Median float64 // of the rounds; for a percentile, the percentile of all samples
	Min    float64 // of the rounds
	Max    float64
	Rounds []float64
	pooled bool // a percentile over the samples of all rounds
}

// percentiles are the percentiles that the table shows of samples.
var percentiles = []int{50, 95, 99}

// seriesOf returns the series of one side's rounds. A round may lack a figure, for example the
// number of statements after Postgres reset its statistics.
func seriesOf(rounds []*figures) (all []series) {
	var order []measured
	each := map[string][][]float64{}
	for _, round := range rounds {
		for _, m := range round.all {
			if each[m.name] == nil {
				order = append(order, m)
			}
			each[m.name] = append(each[m.name], m.samples)
		}
	}
	for _, m := range order {
		if m.sampled {
			all = append(all, percentilesOf(m, each[m.name])...)
			continue
		}
		all = append(all, newSeries(m.name, m.unit, slices.Concat(each[m.name]...)))
	}
	return all
}

// percentilesOf returns one series for each percentile of the samples.
func percentilesOf(m measured, rounds [][]float64) (all []series) {
	for _, p := range percentiles {
		var ofRounds []float64
		for _, samples := range rounds {
			ofRounds = append(ofRounds, percentile(samples, p))
		}
		s := newSeries(fmt.Sprintf("%s p%d", m.name, p), m.unit, ofRounds)
		s.Median, s.pooled = percentile(slices.Concat(rounds...), p), true
		all = append(all, s)
	}
	return all
}

func newSeries(name, unit string, rounds []float64) series {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	return series{Name: name, Unit: unit, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1], Rounds: rounds}
}

// percentile returns the percentile by nearest rank, or 0 without samples.
func percentile(samples []float64, p int) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[max(int(math.Ceil(float64(len(sorted)*p)/100)), 1)-1]
}

// ratio returns A/B of each pair of rounds. Its median is the median of these ratios, or the ratio
// of two percentiles. It returns nil if B is 0 in a round, or if a side lacks a round.
func ratio(a, b series) *series {
	if len(a.Rounds) != len(b.Rounds) {
		return nil
	}
	var of []float64
	for i := range a.Rounds {
		if b.Rounds[i] == 0 {
			return nil
		}
		of = append(of, a.Rounds[i]/b.Rounds[i])
	}
	if len(of) == 0 || b.Median == 0 {
		return nil
	}
	r := newSeries(a.Name, "", of)
	if a.pooled {
		r.Median = a.Median / b.Median
	}
	return &r
}

// named returns the series with the given name.
func named(all []series, name string) (series, bool) {
	i := slices.IndexFunc(all, func(s series) bool { return s.Name == name })
	if i < 0 {
		return series{}, false
	}
	return all[i], true
}
