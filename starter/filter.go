package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// deliveryFilter is the flags that say which deliveries are meant.
type deliveryFilter struct {
	wanted       report.DeliveryFilter
	recipient    recipientFlag
	entity       entityFlag
	since, until console.PastTime
}

func statuses() []notification.Status {
	return []notification.Status{notification.Pending, notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled}
}

func (f *deliveryFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	console.WordsFlag(cmd, &f.wanted.Statuses, "status", statuses(), "only these statuses")
	console.WordsFlag(cmd, &f.wanted.Channels, "channel", notification.Channels(), "only these channels")
	flags.StringVar(&f.wanted.EventID, "event", "", "only those of this event id")
	flags.StringVar(&f.wanted.EventType, "event-type", "", "only those of this event type")
	f.recipient.register(cmd, "only those to this recipient: RESTAURANT_USER/10")
	flags.Var(&f.entity, "entity", "only those told through this group: RESTAURANT/5")
	flags.StringVar(&f.wanted.CorrelationID, "correlation-id", "", "only those of events with this correlation id")
	flags.Var(&f.since, "since", "only those planned since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	flags.Var(&f.until, "until", "only those planned before: an age or a time")
}

// parse returns what the flags mean, and whether any was given.
func (f *deliveryFilter) parse() (filter report.DeliveryFilter, given bool, err error) {
	filter = f.wanted
	filter.UserType, filter.UserID = f.recipient.userType, f.recipient.id
	filter.Entity = f.entity.entity
	filter.Since, filter.Until = f.since.Time, f.until.Time
	if !filter.Until.IsZero() && filter.Until.Sub(filter.Since) < time.Second { // ages are counted from when each was read
		return filter, true, misused(errors.New("--since must be before --until"))
	}
	return filter, !reflect.DeepEqual(filter, report.DeliveryFilter{}), nil
}

// recipientFlag is the value of --recipient: RESTAURANT_USER/10.
type recipientFlag struct {
	userType notification.UserType
	id       string
}

func (r *recipientFlag) register(cmd *cobra.Command, usage string) {
	cmd.Flags().Var(r, "recipient", usage)
	_ = cmd.RegisterFlagCompletionFunc("recipient", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string
		for _, userType := range notification.UserTypes() {
			if word := string(userType) + "/"; strings.HasPrefix(word, strings.ToUpper(typed)) {
				offered = append(offered, word)
			}
		}
		return offered, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}) // it fails only for a flag that does not exist
}

// Set is called by the flag parser.
func (r *recipientFlag) Set(value string) error {
	kind, id, _ := strings.Cut(value, "/")
	userType := notification.UserType(strings.ToUpper(kind))
	if !slices.Contains(notification.UserTypes(), userType) || id == "" {
		return fmt.Errorf("must be a user type and an id, such as RESTAURANT_USER/10; the types are %s", console.Join(notification.UserTypes()))
	}
	*r = recipientFlag{userType, id}
	return nil
}

func (r *recipientFlag) String() string { return strings.Trim(string(r.userType)+"/"+r.id, "/") }

// Type is shown by --help.
func (r *recipientFlag) Type() string { return "TYPE/ID" }

// entityFlag is the value of --entity and --aggregate: RESTAURANT/5.
type entityFlag struct{ entity notification.Entity }

// Set is called by the flag parser.
func (e *entityFlag) Set(value string) error {
	kind, id, _ := strings.Cut(value, "/")
	if kind == "" || id == "" {
		return errors.New("must be a type and an id, such as RESTAURANT/5")
	}
	e.entity = notification.Entity{Type: kind, ID: id}
	return nil
}

func (e *entityFlag) String() string { return strings.Trim(e.entity.String(), "/") }

// Type is shown by --help.
func (e *entityFlag) Type() string { return "TYPE/ID" }
