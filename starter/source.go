package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/list"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/terminal"
)

func sourceCommand(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the outboxes that OUTBOX_SOURCES lists, and Herald's own",
		Long: `Show Herald's own outbox, and the outboxes in the file of OUTBOX_SOURCES: where their
events go, how Herald polls them, and which topics rest.`,
		Example: "  starter source list\n  starter source list -o json",
		RunE:    a.within(commandTimeout, func(ctx context.Context, _ []string) error { return listSources(ctx, a) }),
	}
	checked := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Compare the tables of other outboxes with what their dialects need",
		Long: `Compare the tables of the named outboxes, or of all, with the needs of their dialects:
columns and their types, a unique id, indexes, rights. Each mistake names its remedy, and
the exit code is 1. It changes nothing. "starter check" does this, too.`,
		Example:           "  starter source check\n  starter source check orders",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeSources(a),
		RunE:              a.within(checkTimeout, a.checkSources),
	}
	return group("source", "List, check, migrate and retry the outboxes of other services", list, checked, migrateSourceCommand(a),
		sourceRowsCommand(a), sourceRetryCommand(a))
}

// sourceFlag adds the flag --source.
func sourceFlag(a *app, cmd *cobra.Command, target *string, usage string) {
	cmd.Flags().StringVar(target, "source", "", usage)
	terminal.Complete(cmd, "source", completeSources(a))
}

// source returns the source with this name, which may be Herald's own outbox.
func (a *app) source(name string) (relay.Source, error) {
	cfg, err := a.settings()
	if err != nil {
		return relay.Source{}, err
	}
	var listed []string
	for _, source := range cfg.Sources {
		if source.Name == name {
			return source, nil
		}
		listed = append(listed, source.Name)
	}
	return relay.Source{}, misused(fmt.Errorf("there is no source %q: the sources are %s", name, terminal.Join(listed)))
}

// sourcesNamed returns the source with this name, or all sources if name is empty. Both include
// Herald's own outbox.
func sourcesNamed(a *app, name string) ([]relay.Source, error) {
	if name == "" {
		cfg, err := a.settings()
		return cfg.Sources, err
	}
	source, err := a.source(name)
	return []relay.Source{source}, err
}

// others returns the sources with these names, or all except Herald's own if there are no names.
// It accepts Herald's own outbox only if it has a topic.
func (a *app) others(names []string) ([]relay.Source, error) {
	if len(names) == 0 {
		cfg, err := a.settings()
		return slices.DeleteFunc(cfg.Sources, relay.Source.IsHerald), err
	}
	var named []relay.Source
	for _, name := range names {
		source, err := a.source(name)
		if err != nil {
			return nil, err
		}
		if source.IsHerald() && source.Kafka == nil {
			return nil, misused(errors.New("herald is Herald's own outbox and has no topic: see `starter migrate status` and `starter check`"))
		}
		named = append(named, source)
	}
	return named, nil
}

// completeSources completes names of sources, without Herald's own.
func completeSources(a *app) cobra.CompletionFunc {
	return terminal.CompleteIDs(func(_ context.Context, typed string, _ int) ([]string, error) {
		sources, err := a.others(nil)
		var names []string
		for _, source := range sources {
			if strings.HasPrefix(source.Name, typed) {
				names = append(names, source.Name)
			}
		}
		return names, err
	})
}

func (a *app) checkSources(ctx context.Context, names []string) error {
	sources, err := a.others(names)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		a.Note("OUTBOX_SOURCES is not set, or lists no outbox of another service")
	}
	subjects := check.Sources(sources)
	brokers, err := a.brokers()
	if err != nil {
		return err
	}
	if db, _, err := a.store(ctx); err == nil {
		subjects = append(subjects, check.Topics(db, brokers, sources)...)
	}
	return runCheck(a, strings.Join(append([]string{"starter source check"}, names...), " "),
		func() check.Result { return check.Run(ctx, subjects) })
}

func listSources(ctx context.Context, a *app) error {
	cfg, err := a.settings()
	if err != nil {
		return err
	}
	views := make([]sourceView, len(cfg.Sources))
	for i, source := range cfg.Sources {
		views[i] = viewOf(source)
	}
	if err := addResting(ctx, a, views); err != nil {
		a.Note("warning: cannot read the resting topics: %v", err)
	}
	return a.Print(map[string]any{"sources": views}, func(w io.Writer) { printSources(w, views) })
}

func migrateSourceCommand(a *app) *cobra.Command {
	var topics bool
	cmd := &cobra.Command{
		Use:   "migrate NAME",
		Short: "Create the indexes or triggers that an outbox lacks",
		Long: `Create the missing indexes of the table of another outbox, one after the other, without
blocking writers. For lifecycle, also create the triggers that write its table. It changes nothing
else, and needs a role that owns the tables. Run it again after an interruption.

--topics also creates the topic in kafka.topic, with the brokers' default partitions and
replicas. It needs KAFKA_BROKERS.`,
		Example:           "  starter source migrate orders",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: terminal.CompleteOne(completeSources(a)),
		RunE:              a.within(0, func(ctx context.Context, args []string) error { return migrateSource(ctx, a, args[0], topics) }),
	}
	cmd.Flags().BoolVar(&topics, "topics", false, "create the topic that the brokers do not have")
	return cmd
}

func migrateSource(ctx context.Context, a *app, name string, topics bool) error {
	named, err := a.others([]string{name})
	if err != nil {
		return err
	}
	return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
		set, stop := a.ProgressLine("looking at " + named[0].Table)
		created, err := o.MigrateSource(ctx, named[0], func(i dialects.Addition) { set("creating " + i.Name) })
		var topic string
		if err == nil && topics {
			topic, err = createTopic(ctx, a, o, named[0])
		}
		stop()
		if err != nil {
			return err
		}
		return a.Print(map[string]any{"created": append([]dialects.Addition{}, created...), "topic": topic}, func(w io.Writer) {
			if topic != "" {
				terminal.Row(w, "created", "topic "+topic)
			}
			for _, addition := range created {
				terminal.Row(w, "created", addition.Name)
			}
			if len(created) == 0 && topic == "" {
				terminal.Row(w, "nothing to create: "+named[0].Table+" has all that it needs")
			}
		})
	})
}

// createTopic creates the source's topic and returns its name, or "" if the topic exists.
func createTopic(ctx context.Context, a *app, o *operate.Operator, source relay.Source) (string, error) {
	brokers, err := a.brokers()
	switch {
	case err != nil:
		return "", err
	case brokers == nil:
		return "", misused(errors.New("--topics needs KAFKA_BROKERS"))
	}
	return o.CreateTopic(ctx, brokers, source)
}

func sourceRowsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rows NAME",
		Short: "List the rows of an outbox with a problem",
		Long: `List the rows of an outbox with a problem, in the order of their keys:

  WAITING   the topic refused the row, and Herald retries it
  FAILED    Herald gave up on the row; "starter source retry" starts it again
  UNMARKED  the row was sent, but Herald cannot mark it in its table
  UNTOLD    the row cannot tell recipients; its topic still gets it

Herald stores nothing about other rows.`,
		Example:           "  starter source rows orders\n  starter source rows orders -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: terminal.CompleteOne(completeSources(a)),
	}
	return listCommand(a, cmd, listing[relay.SourceRow]{
		name: "rows", none: "no row has a problem",
		header: []string{"KEY", "STATE", "REFUSED", "NEXT ATTEMPT", "ERROR"},
		cells: func(row relay.SourceRow) []string {
			return []string{row.Key, row.State, fmt.Sprint(row.Refusals), terminal.Clock(row.NextAttemptAt), cmp.Or(row.Error, row.PeopleError)}
		},
		read: func(ctx context.Context, db *db.DB, args []string, from list.Place) (list.Page[relay.SourceRow], error) {
			source, err := a.source(args[0])
			if err != nil {
				return list.Page[relay.SourceRow]{}, err
			}
			found, err := relay.On(db).SourceRows(ctx, source.Name, from.After, from.Limit+1)
			return list.PageOf(found, from.Limit, func(row relay.SourceRow) string { return row.Key }), err
		},
		pages: true,
	})
}

func sourceRetryCommand(a *app) *cobra.Command {
	var dryRun, all bool
	cmd := &cobra.Command{
		Use:   "retry NAME [KEY...]",
		Short: "Retry failed rows of an outbox",
		Long: `Retry failed rows of an outbox: the rows with the keys, or all with --all. They become
pending in their own table, and the poller sends them. "starter source rows" lists the keys.`,
		Example:           "  starter source retry wallet 7 9\n  starter source retry orders --all --dry-run",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: terminal.CompleteOne(completeSources(a)),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			if all == (len(args) > 1) {
				return misused(fmt.Errorf("name keys, or --all"))
			}
			return retrySource(ctx, a, args[0], args[1:], dryRun)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all rows that have failed")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the rows, and change nothing")
	return cmd
}

func retrySource(ctx context.Context, a *app, name string, keys []string, dryRun bool) error {
	source, err := a.source(name)
	if err != nil {
		return err
	}
	return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
		result, err := o.RetrySource(ctx, source, keys, dryRun)
		if err != nil {
			return err
		}
		printed := a.Print(result, func(w io.Writer) {
			if dryRun {
				terminal.Row(w, "would retry", result.Matched)
			} else {
				terminal.Row(w, "retried", result.Retried)
			}
			for _, key := range result.Skipped {
				terminal.Row(w, "has not failed", key)
			}
		})
		if printed == nil && len(result.Skipped) > 0 {
			return fmt.Errorf("%d of the rows have not failed: see `starter source rows %s`", len(result.Skipped), source.Name)
		}
		return printed
	})
}
