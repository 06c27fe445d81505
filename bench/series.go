package main

import (
	"fmt"
	"math"
	"slices"
)

// series is a figure of one side over all rounds.
type series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"` // of the rounds; a percentile: of the samples of all rounds
	Min    float64   `json:"min"`    // of the rounds
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
	pooled bool      // the median is that of all samples
}

// percentiles are those of samples.
var percentiles = []int{50, 95, 99}

// seriesOf makes series of what the rounds of one side found. A round may lack a figure, as a count
// of statements that Postgres has forgotten.
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

// percentilesOf are series of samples.
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
	f := newFigure(name, unit, rounds)
	return series{Name: name, Unit: unit, Median: f.Median, Min: f.Min, Max: f.Max, Rounds: rounds}
}

// percentile is the nearest rank; of no samples it is 0.
func percentile(samples []float64, p int) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[max(int(math.Ceil(float64(len(sorted)*p)/100)), 1)-1]
}

// ratio is A/B of each pair of rounds, and in the middle the median of these, or the ratio of two
// percentiles. It is nil where B is 0 in a round, or a side lacks one.
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

// named returns the series that has a name.
func named(all []series, name string) (series, bool) {
	i := slices.IndexFunc(all, func(s series) bool { return s.Name == name })
	if i < 0 {
		return series{}, false
	}
	return all[i], true
}
