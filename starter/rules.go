package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/rules"
	"herald/internal/template"
	"herald/internal/terminal"
)

// rulesTimeout limits a command on rules, whose comparison may take 20 seconds.
const rulesTimeout = 2 * time.Minute

// gitTimeout limits the question for the commit of a folder.
const gitTimeout = 5 * time.Second

func rulesCommand(a *app) *cobra.Command {
	return group("rules", "Keep the rules in files: export, test, plan, apply",
		schemaOfRulesCommand(a), exportRulesCommand(a), testRulesCommand(a), planRulesCommand(a), applyRulesCommand(a))
}

func schemaOfRulesCommand(a *app) *cobra.Command {
	var installation bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the files, for editors",
		Long: `Print the JSON Schema of the file of an event type, or of installation.yaml. An editor that
knows it completes keys and marks mistakes. The columns have the names of the tables.`,
		Example: "  starter rules schema > event-type.schema.json\n  starter rules schema --installation > installation.schema.json",
		RunE: a.within(0, func(context.Context, []string) error {
			print := rules.EventTypeSchema
			if installation {
				print = rules.InstallationSchema
			}
			text, err := print()
			if err != nil {
				return err
			}
			return a.WriteJSON(string(text))
		}),
	}
	cmd.Flags().BoolVar(&installation, "installation", false, "the schema of installation.yaml")
	return cmd
}

func exportRulesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR",
		Short: "Write the rules of the database into a folder",
		Long: `Write the rules and texts of the database into a folder: EVENT_TYPE.yaml for each event
type, and installation.yaml. In a folder that has rules, it changes only what differs, and
comments stay. What an export removes is in no table: keep the folder in git.`,
		Example: "  starter rules export rules",
		Args:    cobra.ExactArgs(1),
		RunE: a.within(rulesTimeout, func(ctx context.Context, args []string) error {
			db, _, err := a.store(ctx)
			if err != nil {
				return err
			}
			done, err := rules.Export(ctx, db, args[0])
			return show(a, done, err, printExported)
		}),
	}
}

func printExported(w io.Writer, done rules.Exported) {
	for _, name := range done.Written {
		terminal.Row(w, "written", name)
	}
	for _, name := range done.Removed {
		terminal.Row(w, "removed", name)
	}
	terminal.Row(w, terminal.Grouped(done.Rows)+" rules are in the folder")
}

// rulesFlags are the flags of `starter rules plan` and `apply`.
type rulesFlags struct {
	prune, overwrite, dryRun bool
	commit                   string
}

func planRulesCommand(a *app) *cobra.Command {
	var flags rulesFlags
	cmd := &cobra.Command{
		Use:   "plan DIR",
		Short: "Show what an apply of a folder would change",
		Long: `Compare a folder of rules with the database, and show what an apply would create, change
and delete, and what somebody changed by hand since the last apply. It also plans the last
events of each type by both sets of rules, and says how many would be decided differently.
It changes nothing.

The exit code is 0 if there is no difference, 2 if there is one, and 1 after an error.`,
		Example:     "  starter rules plan rules || test $? = 2\n  starter rules plan rules --prune -o json || test $? = 2",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{reportsDifference: "true"},
		RunE: a.within(rulesTimeout, func(ctx context.Context, args []string) error {
			return planRules(ctx, a, args[0], flags)
		}),
	}
	pruneFlag(cmd, &flags)
	return cmd
}

func pruneFlag(cmd *cobra.Command, flags *rulesFlags) {
	cmd.Flags().BoolVar(&flags.prune, "prune", false, "delete rows that no file has")
}

func applyRulesCommand(a *app) *cobra.Command {
	var flags rulesFlags
	cmd := &cobra.Command{
		Use:   "apply DIR --reason TEXT",
		Short: "Write the rules of a folder into the database",
		Long: `Write a folder of rules into the tables, in one transaction. It prints the plan, and how many
of the last events would be decided differently, before it commits. Rules hold for events
that are planned from then on.

It refuses to change rows that somebody changed by hand since the last apply. Export them
into the folder, or give --overwrite. Without --prune, it deletes nothing.`,
		Example: `  starter rules apply rules --dry-run || test $? = 2
  starter rules apply rules --reason "reminders a day earlier"`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{reportsDifference: "true"},
		RunE: a.within(rulesTimeout, func(ctx context.Context, args []string) error {
			if flags.dryRun {
				return planRules(ctx, a, args[0], flags)
			}
			return a.applyRules(ctx, args[0], flags)
		}),
	}
	pruneFlag(cmd, &flags)
	cmd.Flags().BoolVar(&flags.overwrite, "overwrite", false, "overwrite rows that somebody changed by hand")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "do the same as starter rules plan")
	terminal.TextFlag(cmd.Flags(), &flags.commit, "commit", "the commit of the folder (default: what git says)")
	return cmd
}

// rulesResult holds the result that plan and apply print.
type rulesResult struct {
	rules.Plan
	Comparison *rules.Comparison `json:"comparison"` // null: it failed, and a note says why
	Applied    bool              `json:"applied"`
}

func planRules(ctx context.Context, a *app, dir string, flags rulesFlags) error {
	_, _, result, err := a.plannedRules(ctx, dir, flags)
	if err = show(a, result, err, printRulesPlan); err == nil && result.Differs() {
		err = errDiffers
	}
	return err
}

// plannedRules reads a folder and compares it with the database.
func (a *app) plannedRules(ctx context.Context, dir string, flags rulesFlags) (*rules.Folder, *db.DB, rulesResult, error) {
	folder, err := rules.Load(dir)
	if err != nil {
		return nil, nil, rulesResult{}, advised(err)
	}
	db, cfg, err := a.store(ctx)
	if err != nil {
		return nil, nil, rulesResult{}, err
	}
	result := rulesResult{}
	if result.Plan, err = folder.Plan(ctx, db, flags.prune); err != nil {
		return nil, nil, result, advised(err)
	}
	stop := a.Progress(func() string { return "comparing the last events …" })
	compared, err := result.Compare(ctx, db, template.Engine{LinkSchemes: cfg.LinkSchemes}, sourcesWithPeople(cfg))
	stop()
	if err != nil {
		a.Note("warning: the last events were not compared: %s", err)
	} else {
		result.Comparison = &compared
	}
	return folder, db, result, ctx.Err()
}

func sourcesWithPeople(cfg config.Starter) (names []string) {
	for _, source := range cfg.Sources {
		if source.People {
			names = append(names, source.Name)
		}
	}
	return names
}

func (a *app) applyRules(ctx context.Context, dir string, flags rulesFlags) error {
	if a.order.Reason == "" {
		return misused(errors.New("give --reason: why you change the rules"))
	}
	folder, db, result, err := a.plannedRules(ctx, dir, flags)
	if err != nil {
		return err
	}
	operator, err := a.operator(db)
	if err != nil {
		return err
	}
	order := rules.Order{Actor: operator.Order.Actor, Reason: a.order.Reason, Commit: flags.commit, Overwrite: flags.overwrite}
	if order.Commit == "" {
		order.Commit = commitOf(ctx, dir)
	}
	err = folder.Apply(ctx, db, result.Plan, order, func(ctx context.Context) error {
		if !result.Differs() {
			return nil
		}
		printed := rulesResult{result.Plan, result.Comparison, false}
		if a.Format == terminal.Table {
			if err := a.Print(printed, func(w io.Writer) { printRulesPlan(w, printed) }); err != nil {
				return err
			}
		}
		detail := countText(result.Plan)
		if order.Commit != "" {
			detail += ", from commit " + order.Commit
		}
		return a.record(ctx, db, detail, "rules")
	})
	if err != nil {
		return advised(err)
	}
	result.Applied = true
	return a.Print(result, func(w io.Writer) {
		if !result.Differs() {
			printRulesPlan(w, result)
			return
		}
		terminal.Row(w, "applied")
	})
}

// advised adds the next step to an error of package rules.
func advised(err error) error {
	switch {
	case errors.As(err, new(rules.Mistakes)), errors.As(err, new(rules.Mistake)):
		return advice.With(err, "correct the files, and run it again; `starter rules schema` helps your editor")
	case errors.As(err, new(*rules.DriftError)):
		return advice.With(err, "see `starter rules plan`; then take the changes over with `starter rules export`, or repeat with --overwrite")
	case errors.Is(err, rules.ErrApplying), errors.Is(err, rules.ErrChanged):
		return advice.With(err, "nothing was applied: see `starter rules plan`, and run it again")
	}
	return err
}

// commitOf returns the commit that git has of a folder, with -dirty if files differ from it. Without
// git it returns nothing.
func commitOf(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	head, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	commit := strings.TrimSpace(string(head))
	changes, err := exec.CommandContext(ctx, "git", "-C", dir, "status", "--porcelain", "--", ".").Output()
	if err != nil || len(changes) > 0 {
		commit += "-dirty"
	}
	return commit
}

// countText returns "1 created, 2 changed, 0 deleted".
func countText(p rules.Plan) string {
	return fmt.Sprintf("%d created, %d changed, %d deleted", p.Count(rules.Create), p.Count(rules.Modify), p.Count(rules.Delete))
}
