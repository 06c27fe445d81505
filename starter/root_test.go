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
	"herald/internal/postgres"
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
		{"advised", fmt.Errorf("x: %w", advice.With(errors.New("y"), "do that")), "do that"},
		{"no schema", fmt.Errorf("read: %w", &pgconn.PgError{Code: "42P01"}), "run `starter migrate up`"},
		{"old schema", fmt.Errorf("read: %w", &pgconn.PgError{Code: "42703"}), "run `starter migrate up`"},
		{"refused event", &postgres.RefusedEventError{Why: "x", Err: &pgconn.PgError{Code: "23514"}}, "correct the event, or choose another --event-id, and run it again"},
		{"not UTF-8", fmt.Errorf("read: %w", &pgconn.PgError{Code: "22021"}), "write it in UTF-8"},
		{"a large table", fmt.Errorf("count: %w", &pgconn.PgError{Code: "57014"}), "the database took too long: narrow it down, by --since for example, and run it again"},
		{"Temporal went away", fmt.Errorf("x: %w", serviceerror.NewUnavailable("down")), "start Temporal, or set TEMPORAL_ADDRESS to where it is"},
		{"another Temporal", fmt.Errorf("x: %w", serviceerror.NewNamespaceNotFound("x")), "set TEMPORAL_NAMESPACE to one that this Temporal has"},
		{"interrupted", fmt.Errorf("x: %w", context.Canceled), "it was interrupted; run it again"},
		{"too long", fmt.Errorf("x: %w", context.DeadlineExceeded), "it took too long; see `starter status`, then run it again"},
		{"too long for Temporal", fmt.Errorf("x: %w", serviceerror.NewDeadlineExceeded("late")), "it took too long; see `starter status`, then run it again"},
		{"who knows", errors.New("x"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, (&app{}).nextStep(tt.err))
		})
	}
}
