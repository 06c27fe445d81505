package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/terminal"
)

// filterFlags adds the flags that select deliveries.
func filterFlags(a *app, cmd *cobra.Command, f *list.DeliveryFilter) {
	flags := cmd.Flags()
	terminal.WordsFlag(cmd, &f.Statuses, "status", notification.Statuses(), "only these statuses")
	terminal.WordsFlag(cmd, &f.Channels, "channel", notification.Channels(), "only these channels")
	eventFlag(a, cmd, &f.EventID, "only rows of this event id")
	eventTypeFlag(a, cmd, &f.EventType, "event-type", "only rows of this event type")
	recipientFlag(a, cmd, &f.UserType, &f.UserID, "only deliveries to this recipient: RESTAURANT_USER/10")
	entityFlag(flags, &f.Entity, "entity", "only deliveries to members of this group: RESTAURANT/5")
	flags.StringVar(&f.CorrelationID, "correlation-id", "", "only rows of events with this correlation id")
	terminal.TimeFlag(flags, &f.Since, "since", "only deliveries planned since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	terminal.TimeFlag(flags, &f.Until, "until", "only deliveries planned before: an age or a time")
}

// checkTimes refuses a filter whose --since is not before its --until.
func checkTimes(f list.DeliveryFilter) error {
	if !f.Until.IsZero() && f.Until.Sub(f.Since) < time.Second { // two equal ages differ slightly: each counts from the time it was parsed
		return misused(errors.New("--since must be before --until"))
	}
	return nil
}

// eventFlag adds --event, and completes it with the ids of the latest events.
func eventFlag(a *app, cmd *cobra.Command, target *string, usage string) {
	terminal.TextFlag(cmd.Flags(), target, "event", usage)
	terminal.Complete(cmd, "event", completeEvents(a))
}

// eventTypeFlag adds a flag for an event type, and completes it with the configured types. Its
// name is --event-type in commands with other types, and --type in commands on events. Each
// command accepts both names.
func eventTypeFlag(a *app, cmd *cobra.Command, target *string, name, usage string) {
	terminal.TextFlag(cmd.Flags(), target, name, usage)
	terminal.Complete(cmd, name, completeEventTypes(a))
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, typed string) pflag.NormalizedName {
		if typed == "type" || typed == "event-type" {
			typed = name
		}
		return pflag.NormalizedName(typed)
	})
}

// recipientFlag adds --recipient, such as RESTAURANT_USER/10.
func recipientFlag(a *app, cmd *cobra.Command, userType *notification.UserType, id *string, usage string) {
	cmd.Flags().Var(&terminal.Value{Kind: "TYPE/ID", Read: func(text string) (string, error) {
		who, err := recipientOf(text)
		*userType, *id = who.UserType, who.UserID
		return who.String(), err
	}}, "recipient", usage)
	terminal.Complete(cmd, "recipient", completeUserTypes(a))
}

// recipientsFlag adds a flag for recipients, which may be repeated.
func recipientsFlag(a *app, cmd *cobra.Command, people *[]notification.RecipientKey, usage string) {
	var one notification.RecipientKey
	recipientFlag(a, cmd, &one.UserType, &one.UserID, usage)
	flag := cmd.Flags().Lookup("recipient").Value.(*terminal.Value)
	read := flag.Read
	flag.Read = func(text string) (string, error) {
		shown, err := read(text)
		if err == nil {
			*people = append(*people, one)
		}
		return shown, err
	}
}

// entityFlag adds a flag for an entity, such as RESTAURANT/5.
func entityFlag(flags *pflag.FlagSet, target *notification.Entity, name, usage string) {
	flags.Var(&terminal.Value{Kind: "TYPE/ID", Read: func(text string) (string, error) {
		kind, id, _ := strings.Cut(text, "/")
		if kind == "" || id == "" {
			return "", errors.New("must be a type and an id, such as RESTAURANT/5")
		}
		*target = notification.Entity{Type: kind, ID: id}
		return text, nil
	}}, name, usage)
}

// completeDeliveries completes ids of the latest deliveries, and completeEvents of events.
func completeDeliveries(a *app) cobra.CompletionFunc {
	return completeIDs(a, report.Reader.DeliveryIDs)
}

func completeEvents(a *app) cobra.CompletionFunc {
	return completeIDs(a, report.Reader.EventIDs)
}

// completeEventTypes completes the event types that the configuration names.
func completeEventTypes(a *app) cobra.CompletionFunc {
	return completeIDs(a, report.Reader.EventTypes)
}

// completeUserTypes completes the first part of a recipient: RESTAURANT_USER/.
func completeUserTypes(a *app) cobra.CompletionFunc {
	complete := completeIDs(a, report.Reader.RecipientPrefixes)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		offered, directive := complete(cmd, args, typed)
		return offered, directive | cobra.ShellCompDirectiveNoSpace
	}
}

func completeIDs(a *app, read func(report.Reader, context.Context, string, int) ([]string, error)) cobra.CompletionFunc {
	return terminal.CompleteIDs(func(ctx context.Context, typed string, limit int) ([]string, error) {
		defer a.close()
		db, _, err := a.open(ctx)
		if err != nil {
			return nil, err
		}
		return read(report.Reader{Pool: db.Pool}, ctx, typed, limit)
	})
}
