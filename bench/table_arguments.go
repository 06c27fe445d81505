package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// tableSettings are the flags of the whole table, which stand before the first case.
type tableSettings struct {
	Pairs   int     `json:"pairs"`
	WarmUp  int     `json:"warm_up"`
	Minutes float64 `json:"minutes,omitempty"` // 0: as many as it takes
	file    string
	docs    bool
}

// tableMinutes is how long the rounds of the table may take. With what prepares and ends the
// cases, it takes a quarter of an hour.
const tableMinutes = 14

// share is until when the first of the cases that are left may begin another pair. One with large
// rounds has a larger share of the time, and what a case leaves over goes to the others.
func (s tableSettings) share(began time.Time, left []*comparison) time.Time {
	if s.Minutes == 0 {
		return time.Now().Add(24 * time.Hour)
	}
	whole := 0
	for _, c := range left {
		whole += c.weight()
	}
	end := began.Add(time.Duration(s.Minutes * float64(time.Minute)))
	return time.Now().Add(time.Until(end) * time.Duration(left[0].weight()) / time.Duration(whole))
}

// weight is the case's part of the time.
func (c *comparison) weight() int { return max(c.large, 1) }

// parseTable reads the flags of the table, and the cases with those of each.
func parseTable(args []string, out io.Writer) (s tableSettings, picked []*comparison, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.Pairs, "pairs", 5, "rounds of each side that count")
	flags.IntVar(&s.WarmUp, "warm-up", 1, "rounds of each side before those")
	flags.Float64Var(&s.Minutes, "minutes", 0, fmt.Sprintf("time for all cases, which have fewer pairs where they would take longer (default %d, or any time where cases are picked)", tableMinutes))
	flags.StringVar(&s.file, "json", "", "`file` that gets all figures (default bench/table.json, or bench/CASES.json where some are picked)")
	flags.BoolVar(&s.docs, "write-docs", false, "write the tables of docs/performance.md and docs/scale.md")
	flags.Usage = func() {
		help(out)
		fmt.Fprintln(out, "\nflags of the table, before the first case:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return s, nil, err
	}
	if s.Pairs < 1 || s.WarmUp < 0 {
		return s, nil, errors.New("there must be a pair that counts")
	}
	all, rest := comparisons(), flags.Args()
	if len(rest) == 0 {
		s.Minutes = cmp.Or(s.Minutes, tableMinutes)
		s.file = cmp.Or(s.file, "bench/table.json")
		for _, c := range all {
			if !c.named {
				rest = append(rest, c.name)
			}
		}
	}
	var names []string
	for len(rest) > 0 {
		i := slices.IndexFunc(all, func(c *comparison) bool { return c.name == rest[0] })
		if i < 0 {
			help(out)
			return s, nil, fmt.Errorf("the table has no case %q", rest[0])
		}
		if rest, err = all[i].parse(rest[1:], out); err != nil {
			return s, nil, err
		}
		if !slices.Contains(picked, all[i]) {
			picked, names = append(picked, all[i]), append(names, all[i].name)
		}
	}
	s.file = cmp.Or(s.file, "bench/"+strings.Join(names, "+")+".json")
	return s, picked, nil
}

// parse reads the flags of a case, and returns what follows them.
func (c *comparison) parse(args []string, out io.Writer) (rest []string, err error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.pairs, "pairs", c.pairs, "rounds of each side that count; 0: those of the table")
	c.flags(flags)
	flags.Usage = func() {
		fmt.Fprintf(out, "%s: %s\n\n  A  %s\n  B  %s\n\nflags:\n", c.name, c.about, c.a, c.b)
		flags.PrintDefaults()
	}
	err = flags.Parse(args)
	return flags.Args(), err
}
