package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/advice"
	"herald/outbox"
)

// Every command explains itself with an example and takes -o.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()

	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		if cmd.HasSubCommands() {
			return
		}
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		require.True(t, strings.HasPrefix(strings.TrimSpace(cmd.Example), cmd.CommandPath()), cmd.CommandPath())
		require.NotNil(t, cmd.InheritedFlags().Lookup("output"), cmd.CommandPath())
		require.NotNil(t, cmd.Args, cmd.CommandPath())
	}
	check((&app{}).command())
}

func TestSettingsMissing(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{{"status"}, {"migrate", "up"}, {"seed"}, {"poller", "start"}, {"event", "show", "evt-1"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()

			got := terminal{}.run(t, args...)

			require.Equal(t, failed, got.code)
			require.Contains(t, got.err, "DATABASE_URL is not set")
			require.Contains(t, got.err, "next: set it in the environment")
		})
	}
}

func TestServersOutOfReach(t *testing.T) {
	t.Parallel()

	c := terminal{environment: map[string]string{"DATABASE_URL": "postgres://herald:verysecret@" + unreachable + "/herald", "TEMPORAL_ADDRESS": unreachable}}
	for command, next := range map[string]string{
		"status": "start Postgres, or set DATABASE_URL to where it is", "poller status": "start Temporal, or set TEMPORAL_ADDRESS to where it is",
	} {
		got := c.run(t, strings.Fields(command)...)
		require.Equal(t, failed, got.code)
		require.Contains(t, got.err, "next: "+next)
		require.NotContains(t, got.err, "verysecret")
	}
}

func TestNextStep(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		err  error
		want string
	}{
		{name: "advised", err: fmt.Errorf("x: %w", advice.With(errors.New("y"), "do that")), want: "do that"},
		{name: "no schema", err: fmt.Errorf("read: %w", &pgconn.PgError{Code: "42P01"}), want: "run `starter migrate up`"},
		{name: "old schema", err: fmt.Errorf("read: %w", &pgconn.PgError{Code: "42703"}), want: "run `starter migrate up`"},
		{name: "refused event", err: &outbox.RefusedError{Why: "x", Err: &pgconn.PgError{Code: "23514"}}, want: "correct the event, or choose another --event-id, and run it again"},
		{name: "not UTF-8", err: fmt.Errorf("read: %w", &pgconn.PgError{Code: "22021"}), want: "write it in UTF-8"},
		{name: "a large table", err: fmt.Errorf("count: %w", &pgconn.PgError{Code: "57014"}), want: "the database took too long: narrow it down, by --since for example, and run it again"},
		{name: "Temporal went away", err: fmt.Errorf("x: %w", serviceerror.NewUnavailable("down")), want: "start Temporal, or set TEMPORAL_ADDRESS to where it is"},
		{name: "another Temporal", err: fmt.Errorf("x: %w", serviceerror.NewNamespaceNotFound("x")), want: "set TEMPORAL_NAMESPACE to one that this Temporal has"},
		{name: "interrupted", err: fmt.Errorf("x: %w", context.Canceled), want: "it was interrupted; run it again"},
		{name: "too long", err: fmt.Errorf("x: %w", context.DeadlineExceeded), want: "it took too long; see `starter status`, then run it again"},
		{name: "too long for Temporal", err: fmt.Errorf("x: %w", serviceerror.NewDeadlineExceeded("late")), want: "it took too long; see `starter status`, then run it again"},
		{name: "who knows", err: errors.New("x")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, (&app{}).nextStep(tt.err))
		})
	}
}
