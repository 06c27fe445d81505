package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/postgres"
)

const (
	// completionTimeout is how long a shell waits for ids, in silence.
	completionTimeout = 2 * time.Second
	// completedIDs is how many ids a shell is offered.
	completedIDs = 50
)

// completeWords offers words for a flag, also behind those before a comma.
func completeWords[T ~string](cmd *cobra.Command, flag string, allowed []T) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before, word := "", typed
		if i := strings.LastIndex(typed, ","); i >= 0 {
			before, word = typed[:i+1], typed[i+1:]
		}
		var offered []string
		for _, w := range allowed {
			if strings.HasPrefix(string(w), strings.ToUpper(word)) {
				offered = append(offered, before+string(w))
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for a flag that there is not
}

func completeRecipient(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("recipient", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string
		for _, userType := range notification.UserTypes() {
			if word := string(userType) + "/"; strings.HasPrefix(word, strings.ToUpper(typed)) {
				offered = append(offered, word)
			}
		}
		return offered, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeDeliveries offers the ids of the latest deliveries.
func (a *app) completeDeliveries(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.completeIDs(cmd.Context(), args, typed, (*postgres.Store).DeliveryIDs)
}

// completeEvents offers the ids of the latest events.
func (a *app) completeEvents(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.completeIDs(cmd.Context(), args, typed, (*postgres.Store).EventIDs)
}

// completeEventFlag offers the ids of the latest events for --event.
func (a *app) completeEventFlag(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("event", a.completeEvents) // it fails only for a flag that there is not
}

// completeIDs offers nothing where the database cannot be asked: a shell has no
// place for an error.
func (a *app) completeIDs(ctx context.Context, args []string, typed string, read func(*postgres.Store, context.Context, string, int) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	const nothingElse = cobra.ShellCompDirectiveNoFileComp
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	db, _, err := a.store(ctx)
	if err != nil {
		return nil, nothingElse
	}
	defer db.Close()
	ids, err := read(db, ctx, typed, completedIDs)
	if err != nil {
		return nil, nothingElse
	}
	var offered []string
	for _, id := range ids {
		if !slices.Contains(args, id) && printable(id) == id {
			offered = append(offered, id)
		}
	}
	return offered, nothingElse
}

// completeDelivery and completeEvent are for commands that take one id.
func (a *app) completeDelivery(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeDeliveries(cmd, args, typed)
}

func (a *app) completeEvent(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeEvents(cmd, args, typed)
}
