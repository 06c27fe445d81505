package main

import (
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
	ofA, ofB := seriesOf(found[0]), seriesOf(found[1])
	for _, a := range ofA {
		both := compared{Name: a.Name, Unit: a.Unit, A: &a}
		if b := named(ofB, a.Name); b != nil {
			both.B, both.Ratio = b, ratio(a, *b)
		}
		r.Figures = append(r.Figures, both)
		for _, g := range c.goals {
			if j, known := g.judge(both.Ratio); known && g.figure == a.Name {
				r.Goals = append(r.Goals, j)
			}
		}
	}
	for _, b := range ofB {
		if named(ofA, b.Name) == nil {
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

// goal is a bound for a figure of A, compared with the same figure of B. One of least and most is
// set.
type goal struct {
	figure string
	least  float64 // minimum of A/B
	most   float64 // maximum of A/B
}

// judgement is the result of a goal.
type judgement struct {
	Figure  string
	ToReach string
	Value   float64
	Reached bool
}

// judge compares a figure's ratio with the goal. The ratio is nil if a side does not have the figure.
func (g goal) judge(of *series) (j judgement, known bool) {
	if of == nil {
		return j, false
	}
	j = judgement{Figure: g.figure, Value: of.Median}
	if g.least > 0 {
		j.ToReach, j.Reached = fmt.Sprintf("≥ %s × B", number(g.least)), of.Median >= g.least
	} else {
		j.ToReach, j.Reached = fmt.Sprintf("≤ %s × B", number(g.most)), of.Median <= g.most
	}
	return j, true
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

// named returns the series with the given name, or nil.
func named(all []series, name string) *series {
	i := slices.IndexFunc(all, func(s series) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}
