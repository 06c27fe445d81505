package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/check"
	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/outboxes"
)

func (a *app) sourceCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the outboxes that OUTBOX_SOURCES lists, and Herald's own",
		Long: `Show the outboxes that the file of OUTBOX_SOURCES lists, and Herald's own, which is
always one: where their events go, how they are polled, and which topics take no records.`,
		Example: "  starter source list\n  starter source list -o json",
		RunE:    a.within(commandTimeout, func(ctx context.Context, _ []string) error { return a.listSources(ctx) }),
	}
	checked := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Compare the tables of other outboxes with what their dialects need",
		Long: `Connect to the database of each outbox that is named, or of all, and compare its table
with what its dialect needs: columns and their types, a unique id, indexes, rights. What
is missing is named with what to do about it, and the exit code is 1. It changes nothing.
"starter check" does this, too.`,
		Example:           "  starter source check\n  starter source check orders",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeSources(),
		RunE:              a.within(checkTimeout, a.checkSources),
	}
	return group("source", "List, check, migrate and mend the outboxes that events come from", list, checked, a.migrateSourceCommand(), a.sourceRowsCommand(), a.sourceRetryCommand())
}

// sourceFlag adds the flag --source.
func (a *app) sourceFlag(cmd *cobra.Command, target *string, usage string) {
	cmd.Flags().StringVar(target, "source", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("source", a.completeSources()) // the flag is there
}

// sourcesNamed is the source with a name, or all of them, Herald's own included.
func (a *app) sourcesNamed(name string) ([]outboxes.Source, error) {
	cfg, err := a.settings()
	if err != nil || name == "" {
		return cfg.Sources, err
	}
	var listed []string
	for _, source := range cfg.Sources {
		if source.Name == name {
			return []outboxes.Source{source}, nil
		}
		listed = append(listed, source.Name)
	}
	return nil, misused(fmt.Errorf("there is no source %q: there are %s%s", name, console.Join(listed), console.DidYouMean(name, listed)))
}

// others are the sources that the command names, or all but Herald's own.
func (a *app) others(names []string) ([]outboxes.Source, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, err
	}
	all := cfg.Sources[1:]
	if len(names) == 0 {
		return all, nil
	}
	known := map[string]outboxes.Source{}
	var listed []string
	for _, source := range all {
		known[source.Name], listed = source, append(listed, source.Name)
	}
	var named []outboxes.Source
	for _, name := range names {
		source, found := known[name]
		switch {
		case name == notification.HeraldSource && cfg.Sources[0].Kafka != nil:
			source = cfg.Sources[0]
		case name == notification.HeraldSource:
			return nil, misused(errors.New("herald is Herald's own outbox and has no topic: see `starter migrate status` and `starter check`"))
		case !found && len(listed) == 0:
			return nil, misused(fmt.Errorf("there is no source %q: OUTBOX_SOURCES is not set", name))
		case !found:
			return nil, misused(fmt.Errorf("there is no source %q: there are %s%s", name, console.Join(listed), console.DidYouMean(name, listed)))
		}
		named = append(named, source)
	}
	return named, nil
}

// completeSources offers the names of sources.
func (a *app) completeSources() cobra.CompletionFunc {
	return console.CompleteIDs(func(_ context.Context, typed string, _ int) ([]string, error) {
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
	if db, _, err := a.store(ctx); err == nil {
		defer db.Close()
		subjects = append(subjects, check.RestingTopics(db, sources)...)
	}
	return a.runCheck(ctx, subjects, strings.Join(append([]string{"starter source check"}, names...), " "))
}

func (a *app) listSources(ctx context.Context) error {
	cfg, err := a.settings()
	if err != nil {
		return err
	}
	views := make([]sourceView, len(cfg.Sources))
	for i, source := range cfg.Sources {
		views[i] = viewOf(source)
	}
	if err := a.addResting(ctx, views); err != nil {
		a.Note("warning: nothing is known of resting topics: %v", err)
	}
	return a.Print(map[string]any{"sources": views}, func(w io.Writer) { printSources(w, views) })
}
