package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"herald/tools/rig"
)

// caseTime limits a case that sets no limit.
const caseTime = 20 * time.Minute

// previous is the folder for the programs that --against builds.
const previous = "previous"

// runTable runs the named cases, or the default cases, and prints the table.
func runTable(ctx context.Context, args []string, out io.Writer) (err error) {
	s, picked, err := parseTable(args, out)
	if err == nil {
		err = rig.CheckServers("make bench")
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, time.Now().Format("15:04:05 ")+"building the worker and starter")
	programs, err := os.MkdirTemp("", "herald-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	if err := build(ctx, programs); err != nil {
		return err
	}
	if s.Against != "" {
		fmt.Fprintln(out, time.Now().Format("15:04:05 ")+"building the worker and starter of "+s.Against)
		if err := buildRevision(ctx, s.Against, filepath.Join(programs, previous)); err != nil {
			return err
		}
		for _, c := range picked {
			c.b, c.goals = "the same, built from "+s.Against, nil
		}
	}
	fmt.Fprintln(out, machine(ctx))
	began := time.Now()
	var results []caseResult
	var errs []error
	for _, c := range picked {
		if ctx.Err() != nil {
			break
		}
		result, err := c.measure(ctx, s, &stage{programs: programs, out: out, name: c.name})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		results = append(results, result)
	}
	for _, result := range results {
		result.print(out)
	}
	fmt.Fprintf(out, "\nall of it took %s\n", time.Since(began).Round(time.Second))
	return errors.Join(append(errs, ctx.Err())...)
}

// measure runs the rounds of a case in turn.
func (c *comparison) measure(ctx context.Context, s tableSettings, stage *stage) (result caseResult, err error) {
	limit := cmp.Or(c.limit, caseTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the case has not ended within %s", limit))
	defer cancel()
	began := time.Now()
	stage.say("preparing")
	defer func() { err = errors.Join(err, stage.Remove()) }()
	a, b, err := c.open(ctx, stage)
	if err == nil && s.Against != "" {
		other := *stage
		other.programs = filepath.Join(stage.programs, previous)
		other.Leftovers = rig.Leftovers{}
		defer func() { err = errors.Join(err, other.Remove()) }()
		b, _, err = c.open(ctx, &other)
	}
	if err != nil {
		return result, errors.Join(err, context.Cause(ctx))
	}
	pairs := s.Pairs
	if c.pairs > 0 {
		pairs = c.pairs
	}
	var found [2][]*figures
	for pair := 1 - s.WarmUp; pair <= pairs; pair++ {
		order := []int{0, 1}
		if pair%2 == 1 {
			slices.Reverse(order) // what one round leaves to the next one, such as an autovacuum, is no side's alone
		}
		for _, side := range order {
			run := []round{a, b}[side]
			if run == nil {
				continue
			}
			figures, err := run(ctx)
			if err != nil {
				return result, errors.Join(fmt.Errorf("%s: %w", sides[side], err), context.Cause(ctx))
			}
			if pair < 1 {
				stage.say("warm-up: %s %s", sides[side], figures.first())
				continue
			}
			stage.say("pair %d of %d: %s %s", pair, pairs, sides[side], figures.first())
			found[side] = append(found[side], figures)
		}
	}
	return newCaseResult(c, found, time.Since(began)), nil
}

var sides = [2]string{"A", "B"}

// first returns the round's first figure, for a line of progress.
func (f *figures) first() string {
	if f == nil || len(f.all) == 0 {
		return ""
	}
	m := f.all[0]
	if m.sampled {
		return fmt.Sprintf("%s p50 %s %s", m.name, number(percentile(m.samples, 50)), m.unit)
	}
	return strings.TrimSpace(number(m.samples[0]) + " " + m.unit)
}

// tableSettings are the flags of the whole table. They precede the first case.
type tableSettings struct {
	Pairs   int
	WarmUp  int
	Against string
}

// parseTable reads the flags of the table, and the cases with their flags.
func parseTable(args []string, out io.Writer) (s tableSettings, picked []*comparison, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&s.Pairs, "pairs", 3, "rounds of each side that count")
	flags.IntVar(&s.WarmUp, "warm-up", 1, "rounds of each side before those")
	flags.StringVar(&s.Against, "against", "", "`commit` that B is built from: each case then compares Herald with Herald, without goals")
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
		for _, c := range all {
			if !c.named {
				rest = append(rest, c.name)
			}
		}
	}
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
			picked = append(picked, all[i])
		}
	}
	return s, picked, nil
}

// parse reads the flags of a case, and returns the arguments after them.
func (c *comparison) parse(args []string, out io.Writer) (rest []string, err error) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.pairs, "pairs", c.pairs, "rounds of each side that count; 0: as many as in the table")
	c.flags(flags)
	flags.Usage = func() {
		fmt.Fprintf(out, "%s: %s\n\n  A  %s\n  B  %s\n\nflags:\n", c.name, c.about, c.a, c.otherSide())
		flags.PrintDefaults()
	}
	err = flags.Parse(args)
	flags.VisitAll(func(size *flag.Flag) {
		if n, isNumber := size.Value.(flag.Getter).Get().(int); isNumber && n < 1 && size.Name != "pairs" {
			err = errors.Join(err, fmt.Errorf("%s: --%s must be 1 or more", c.name, size.Name))
		}
	})
	return flags.Args(), err
}
