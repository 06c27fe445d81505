package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/rules"
	"herald/internal/rules/ruletest"
	"herald/internal/terminal"
)

// rulesTestTimeout is the longest time for the tests of a folder.
const rulesTestTimeout = 15 * time.Minute

func testRulesCommand(a *app) *cobra.Command {
	var only *regexp.Regexp
	var junit string
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Run the tests in a folder of rules",
		Long: `Run the tests of a folder of rules with the worker's planner. The run creates a schema in the
database of DATABASE_URL and drops it at the end. It needs no Temporal, sends nothing, and does
not touch other schemas.

It exits 1 if a test fails, and prints each difference. After all tests it lists the rules, the
texts and the branches of texts that no test reaches.`,
		Example: "  starter rules test rules\n  starter rules test rules --junit report.xml -o json",
		Args:    cobra.ExactArgs(1),
		RunE:    a.within(rulesTestTimeout, func(ctx context.Context, args []string) error { return testRules(ctx, a, args[0], only, junit) }),
	}
	cmd.Flags().Var(&terminal.Value{Kind: "regexp", Read: func(text string) (_ string, err error) {
		only, err = regexp.Compile(text)
		return text, err
	}}, "run", "only the tests whose EVENT_TYPE/name matches this regular expression")
	terminal.TextFlag(cmd.Flags(), &junit, "junit", "also write the results to this file, in the XML of JUnit")
	return cmd
}

func testRules(ctx context.Context, a *app, dir string, only *regexp.Regexp, junit string) error {
	folder, err := rules.Load(dir)
	if err != nil {
		return advised(err)
	}
	db, cfg, err := a.open(ctx)
	if err != nil {
		return err
	}
	var done atomic.Int64
	stop := a.Progress(func() string { return fmt.Sprintf("tests done: %d", done.Load()) })
	report, err := ruletest.Run(ctx, ruletest.Request{
		DB: db, Folder: folder, Only: only, LinkSchemes: cfg.LinkSchemes, Progress: func(n int) { done.Store(int64(n)) },
	})
	stop()
	if err != nil {
		return advised(err)
	}
	if err := writeJUnit(report, junit); err != nil {
		return err
	}
	if err := a.Print(report, func(w io.Writer) { printTests(w, report) }); err != nil {
		return err
	}
	switch failed := report.Failed(); {
	case only != nil && len(report.Tests) == 0:
		return advice.With(fmt.Errorf("no test matches --run %s", advice.Quote(only.String())), "it compares with EVENT_TYPE/name")
	case failed > 0:
		return fmt.Errorf("%d of %d tests failed", failed, len(report.Tests))
	}
	return nil
}

// writeJUnit writes the report to a file; without a name, it writes nothing.
func writeJUnit(report ruletest.Report, name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return errors.Join(report.WriteJUnit(file), file.Close())
}

func printTests(w io.Writer, report ruletest.Report) {
	for _, test := range report.Tests {
		if len(test.Differences) == 0 {
			terminal.Row(w, "ok", test.EventType, test.Name)
			continue
		}
		terminal.Row(w, "FAIL", test.EventType, test.Name)
		terminal.Row(w, fmt.Sprintf("      %s:%d", test.File, test.Line))
		for _, line := range test.Lines() {
			terminal.Row(w, "      "+line)
		}
	}
	if len(report.Unreached) > 0 {
		terminal.Row(w)
		terminal.Row(w, "not reached by a test:")
	}
	for _, u := range report.Unreached {
		terminal.Row(w, fmt.Sprintf("  %s:%d: %s", u.File, u.Line, u.What))
	}
	if len(report.Tests) == 0 && len(report.Unreached) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, fmt.Sprintf("%d tests: %d ok, %d failed", len(report.Tests), len(report.Tests)-report.Failed(), report.Failed()))
}
