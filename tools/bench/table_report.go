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

// caseResult holds the results of a case.
type caseResult struct {
	*comparison

	took    time.Duration
	figures []compared
}

// compared is a figure of both sides. A or B is nil if that side does not have the figure.
type compared struct {
	name, unit string
	a, b       *series
	ratio      *series // A/B of each pair
}

func newCaseResult(c *comparison, found [2][]*figures, took time.Duration) caseResult {
	r := caseResult{comparison: c, took: took}
	ofA, ofB := seriesOf(found[0]), seriesOf(found[1])
	for _, a := range ofA {
		both := compared{name: a.name, unit: a.unit, a: &a}
		if b := named(ofB, a.name); b != nil {
			both.b, both.ratio = b, ratio(a, *b)
		}
		r.figures = append(r.figures, both)
	}
	for _, b := range ofB {
		if named(ofA, b.name) == nil {
			r.figures = append(r.figures, compared{name: b.name, unit: b.unit, b: &b})
		}
	}
	return r
}

// print prints a line for each figure.
func (r caseResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s: %.0f s\n  A: %s\n  B: %s\n", r.name, r.took.Seconds(), r.comparison.a, r.otherSide())
	fmt.Fprintln(w, "  FIGURE\tA\t\tB\t\tA/B\t\tTO REACH\t")
	for _, f := range r.figures {
		label := f.name
		if f.unit != "" {
			label += ", " + f.unit
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t\n", label, f.a, f.b, f.ratio, r.toReach(f))
	}
	_ = w.Flush() // out is a terminal or a buffer
}

// toReach returns the goal of a figure, and whether it was reached.
func (r caseResult) toReach(f compared) string {
	i := slices.IndexFunc(r.goals, func(g goal) bool { return g.figure == f.name })
	if i < 0 || f.ratio == nil {
		return ""
	}
	g, word := r.goals[i], "missed"
	sign, bound, reached := "≤", g.most, f.ratio.median <= g.most
	if g.least > 0 {
		sign, bound, reached = "≥", g.least, f.ratio.median >= g.least
	}
	if reached {
		word = "reached"
	}
	return fmt.Sprintf("%s %s × B: %s", sign, number(bound), word)
}

// goal is a limit for the ratio of a figure of A to the same figure of B. Either least or most is set.
type goal struct {
	figure      string
	least, most float64
}

// number prints three significant digits, or all digits before the point.
func number(f float64) string {
	if math.Abs(f) >= 100 || f == 0 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(f))))
	return strconv.FormatFloat(f, 'f', min(digits, 4), 64)
}

// series is a figure of one side over all rounds.
type series struct {
	name, unit string
	median     float64 // of the rounds; for a percentile, the percentile of all samples
	rounds     []float64
	pooled     bool // a percentile over the samples of all rounds
}

// String returns the cells of the median, and of the smallest and the largest round.
func (s *series) String() string {
	switch {
	case s == nil:
		return "-\t"
	case slices.Min(s.rounds) == slices.Max(s.rounds):
		return number(s.median) + "\t"
	default:
		return number(s.median) + "\t(" + number(slices.Min(s.rounds)) + "–" + number(slices.Max(s.rounds)) + ")"
	}
}

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
	for _, p := range []int{50, 95, 99} {
		var ofRounds []float64
		for _, samples := range rounds {
			ofRounds = append(ofRounds, percentile(samples, p))
		}
		all = append(all, series{fmt.Sprintf("%s p%d", m.name, p), m.unit, percentile(slices.Concat(rounds...), p), ofRounds, true})
	}
	return all
}

func newSeries(name, unit string, rounds []float64) series {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	return series{name: name, unit: unit, median: (sorted[(n-1)/2] + sorted[n/2]) / 2, rounds: rounds}
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
	if len(a.rounds) != len(b.rounds) || slices.Contains(b.rounds, 0) || b.median == 0 {
		return nil
	}
	var of []float64
	for i := range a.rounds {
		of = append(of, a.rounds[i]/b.rounds[i])
	}
	r := newSeries(a.name, "", of)
	if a.pooled {
		r.median = a.median / b.median
	}
	return &r
}

// named returns the series with the given name, or nil.
func named(all []series, name string) *series {
	i := slices.IndexFunc(all, func(s series) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}
