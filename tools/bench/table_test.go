package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roundsOf returns one round with one figure for each value.
func roundsOf(name string, values ...float64) (rounds []*figures) {
	for _, value := range values {
		f := &figures{}
		f.add(name, "per second", value)
		rounds = append(rounds, f)
	}
	return rounds
}

// sampledRounds returns one round for each list of samples.
func sampledRounds(name string, rounds ...[]float64) (all []*figures) {
	for _, samples := range rounds {
		f := &figures{}
		f.addSamples(name, "ms", samples)
		all = append(all, f)
	}
	return all
}

// A goal compares the ratios of the pairs, or the percentiles of all samples.
func TestGoals(t *testing.T) {
	t.Parallel()

	c := &comparison{goals: []goal{{figure: "mails", least: 1.2}, {figure: "wait p99", most: 1.5}, {figure: "absent", most: 1}}}
	found := [2][]*figures{roundsOf("mails", 60, 50, 40), roundsOf("mails", 30, 50, 20)}
	for i, samples := range sampledRounds("wait", []float64{1, 2, 3}, []float64{4, 5, 6}, []float64{7, 8, 90}) {
		found[0][i].all = append(found[0][i].all, samples.all...)
	}
	for i, samples := range sampledRounds("wait", []float64{1, 1, 1}, []float64{1, 1, 1}, []float64{1, 1, 50}) {
		found[1][i].all = append(found[1][i].all, samples.all...)
	}

	var printed strings.Builder
	newCaseResult(c, found, time.Second).print(&printed)
	require.Regexp(t, `mails, per second +50.0 +\(40.0–60.0\) +30.0 +\(20.0–50.0\) +2.00 +\(1.00–2.00\) +≥ 1.20 × B: reached`,
		printed.String())
	require.Regexp(t, `wait p99, ms +90.0 +\(3.00–90.0\) +50.0 +\(1.00–50.0\) +1.80 +\(1.80–6.00\) +≤ 1.50 × B: missed`, printed.String())
}

// If one round lacks a figure, the figure comes from the other rounds and has no ratio.
func TestRoundLacksFigure(t *testing.T) {
	t.Parallel()

	a, b := roundsOf("mails", 6, 4, 2), roundsOf("mails", 3, 2, 1)
	for _, rounds := range [][]*figures{a, b[:2]} {
		for i, round := range rounds {
			round.add("waits", "", float64(i+1))
		}
	}
	result := newCaseResult(&comparison{}, [2][]*figures{a, b}, time.Second)
	require.Len(t, result.figures, 2)
	require.EqualValues(t, 2, result.figures[0].ratio.median)
	require.EqualValues(t, 2, result.figures[1].a.median)
	require.EqualValues(t, 1.5, result.figures[1].b.median)
	require.Nil(t, result.figures[1].ratio)
}

// Cases follow the flags of the table. The flags of a case follow its name.
func TestTableArguments(t *testing.T) {
	t.Parallel()

	s, picked, err := parseTable(strings.Fields("--pairs 2 deliveries --events 7 broadcast"), io.Discard)
	require.NoError(t, err)
	require.Equal(t, 2, s.Pairs)
	require.Len(t, picked, 2)

	_, picked, err = parseTable(nil, io.Discard)
	require.NoError(t, err)
	for _, c := range picked {
		require.False(t, c.named, c.name)
	}
	for args, want := range map[string]string{"nothing": `no case "nothing"`, "--pairs 0": "a pair", "beside --pairs x": "invalid value"} {
		_, _, err := parseTable(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, want, args)
	}
}

// A case runs A and B in turn after a warm-up, each first in every other pair, and removes the things it created.
func TestRoundsInTurn(t *testing.T) {
	t.Parallel()

	var ran, removed string
	side := func(name string) round {
		return func(context.Context) (*figures, error) {
			ran += name
			return roundsOf("mails", 1)[0], nil
		}
	}
	c := &comparison{name: "c", open: func(_ context.Context, s *stage) (round, round, error) {
		s.AtEnd(func(context.Context) error { removed = "removed"; return nil })
		return side("A"), side("B"), nil
	}}
	result, err := c.measure(t.Context(), tableSettings{Pairs: 3, WarmUp: 1}, &stage{out: io.Discard})
	require.NoError(t, err)
	require.Equal(t, "ABBAABBA", ran)
	require.Len(t, result.figures[0].a.rounds, 3)
	require.Equal(t, "removed", removed)
}

// Each case has a unique name, and each goal has one limit.
func TestGoalsOfTheCases(t *testing.T) {
	t.Parallel()

	known := map[string]bool{}
	for _, c := range comparisons() {
		require.False(t, known[c.name], c.name)
		known[c.name] = true
		for _, g := range c.goals {
			require.NotEqual(t, g.least > 0, g.most > 0, "%s: %s", c.name, g.figure)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()

	for f, want := range map[float64]string{0: "0", 0.012345: "0.0123", 1.2345: "1.23", 99.4: "99.4", 1234.5: "1234", -12.34: "-12.3"} {
		require.Equal(t, want, number(f))
	}
}
