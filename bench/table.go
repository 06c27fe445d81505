package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// caseTime bounds one case that has no limit of its own.
const caseTime = 20 * time.Minute

// runTable runs the cases that are named, or all, and prints the table.
func runTable(ctx context.Context, args []string, out io.Writer) (err error) {
	s, picked, err := parseTable(args, out)
	if err == nil {
		err = checkServers()
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
	r, began := newTableReport(ctx, s), time.Now()
	var errs []error
	for i, c := range picked {
		if ctx.Err() != nil {
			break
		}
		result, err := c.measure(ctx, s, &stage{programs: programs, out: out, name: c.name}, s.share(began, picked[i:]))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		r.Cases = append(r.Cases, result)
	}
	if len(r.Cases) == 0 {
		return errors.Join(append(errs, ctx.Err())...)
	}
	r.judge(picked)
	r.print(out)
	fmt.Fprintf(out, "\nall of it took %s\n", time.Since(began).Round(time.Second))
	errs = append(errs, ctx.Err(), r.save(s, out))
	if err := errors.Join(errs...); err != nil || !s.docs {
		return err
	}
	return r.writeDocs()
}

// measure runs the rounds of a case in turn, until another pair would end after a time.
func (c *comparison) measure(ctx context.Context, s tableSettings, stage *stage, until time.Time) (result caseResult, err error) {
	limit := max(c.limit, caseTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %s", limit))
	defer cancel()
	began := time.Now()
	stage.say("preparing")
	defer func() { err = errors.Join(err, stage.remove()) }()
	a, b, err := c.open(ctx, stage)
	if err != nil {
		return result, errors.Join(err, context.Cause(ctx))
	}
	pairs := s.Pairs
	if c.pairs > 0 {
		pairs = c.pairs
	}
	var found [2][]*figures
	for pair := 1 - s.WarmUp; pair <= pairs; pair++ {
		started := time.Now()
		for side, run := range []round{a, b} {
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
		if pair >= 1 && pair < pairs && time.Now().Add(time.Since(started)).After(until) {
			stage.say("there is no time for more than %d of %d pairs: see --minutes", pair, pairs)
			break
		}
	}
	return newCaseResult(c, found, time.Since(began)), nil
}

var sides = [2]string{"A", "B"}

// first is what progress says of a round: its first figure.
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
