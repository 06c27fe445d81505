package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// report is the result of a run.
type report struct {
	settings
	version  string
	played   []played
	without  []string // faults that were left out, with the reason
	ends     []string // of programs that ended by themselves, with their last output
	settled  time.Duration
	left     string // what Herald had not finished; empty: nothing
	attempts map[notification.AttemptOutcome]int
	verdict  verdict
}

func (r *report) judge(ctx context.Context, stage *stage, load *load) error {
	evidence, err := stage.gather(ctx, load)
	if err != nil {
		return err
	}
	r.attempts, err = stage.attempts(ctx)
	r.verdict = judge(evidence)
	return err
}

// passed reports whether the judge found nothing, and every fault could be caused and mended.
func (r *report) passed() bool {
	return r.verdict.passed() && len(r.failedFaults()) == 0 && r.left == ""
}

func (r *report) failedFaults() []played {
	return slices.DeleteFunc(slices.Clone(r.played), func(p played) bool { return p.Err == nil })
}

// shown is the maximum number of findings of a kind in the report.
const shown = 20

// markdown returns the report, without addresses and texts.
func (r *report) markdown() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	result := "passed"
	if !r.passed() {
		result = "FAILED"
	}
	line("# Drill %d: %s\n", r.seed, result)
	line("%s of load and faults, profile %s, %g transactions a second, broadcasts to %d people.", r.length, r.profile.name, r.rate, r.people)
	again := fmt.Sprintf("--seed %d --for %s --profile %s --rate %g --people %d", r.seed, r.length, r.profile.name, r.rate, r.people)
	if r.disaster.name != "" {
		line("%s.", r.disaster.about)
		again += " --disaster " + r.disaster.name
	}
	line("Herald %s, %d CPUs. Again: `make drill ARGS='%s'`\n", r.version, runtime.NumCPU(), again)
	line("| judged | result |\n|---|---|")
	for _, k := range kinds {
		line("| %s | %d |", k, len(r.verdict.Findings[k]))
	}
	line("| repeated | %d of at most %d |", r.verdict.Repeats, r.verdict.MaxRepeats)
	line("\n* %d events, %d of them cancelled; %d transactions rolled back", r.verdict.Events, r.verdict.Cancelled, r.verdict.RolledBack)
	line("* %d messages accepted; attempts: %s", r.verdict.Messages, r.outcomes())
	line("* settled %s after the last fault", r.settled.Round(time.Second))
	if r.left != "" {
		line("* not finished then: %s", r.left)
	}
	for _, end := range r.ends {
		line("* a program ended by itself: `%s`", lastLine(end))
	}
	r.findings(line)
	r.faults(line)
	return b.String()
}

func (r *report) outcomes() string {
	var all []string
	for _, outcome := range slices.Sorted(maps.Keys(r.attempts)) {
		all = append(all, fmt.Sprintf("%d %s", r.attempts[outcome], outcome))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

func (r *report) findings(line func(string, ...any)) {
	for _, k := range kinds {
		found := r.verdict.Findings[k]
		if len(found) == 0 {
			continue
		}
		line("\n## %s: %d\n", k, len(found))
		for _, finding := range found[:min(shown, len(found))] {
			line("* %s", finding)
		}
		if len(found) > shown {
			line("* and %d more", len(found)-shown)
		}
	}
}

func (r *report) faults(line func(string, ...any)) {
	line("\n## Faults\n\n| at | what | how | for |\n|---|---|---|---|")
	slices.SortFunc(r.played, func(a, b played) int { return cmp.Compare(a.At, b.At) })
	for _, p := range r.played {
		line("| %s | %s | %s | %s |", p.At.Round(time.Second), p.Target, p.Kind, p.Length.Round(100*time.Millisecond))
	}
	for _, p := range r.failedFaults() {
		line("\n%s %s failed: `%s`", p.Kind, p.Target, lastLine(p.Err.Error()))
	}
	if len(r.without) > 0 {
		line("\nLeft out:\n")
	}
	for _, reason := range r.without {
		line("* %s", reason)
	}
}

// lastLine returns the last line of a program's output.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.ReplaceAll(lines[len(lines)-1], "`", "'")
}
