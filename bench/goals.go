package main

import (
	"cmp"
	"fmt"
	"slices"
)

// goal is what a figure of A is to reach beside the same of B, or beside that of another case.
// One of least, most and more is set.
type goal struct {
	figure string
	beside string  // the case whose A is compared with; empty: B of this one
	other  string  // the figure of that; empty: the same
	least  float64 // A/B is at least that
	most   float64 // A/B is at most that
	more   float64 // A - B is at most that, in the figure's unit
}

// judgement is what became of a goal.
type judgement struct {
	Figure  string  `json:"figure"`
	ToReach string  `json:"to_reach"`
	Value   float64 `json:"value"`
	Reached bool    `json:"reached"`
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
