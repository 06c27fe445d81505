package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/advice"
	"herald/outbox"
)

// Every command has help with an example, and -o.
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
		got := shell{}.fails(t, failed, "DATABASE_URL is not set", args...)
		require.Contains(t, got.err, "next: set it in the environment")
	}
}

func TestServersOutOfReach(t *testing.T) {
	t.Parallel()

	c := shell{environment: map[string]string{
		"DATABASE_URL": "postgres://herald:verysecret@" + unreachable + "/herald", "TEMPORAL_ADDRESS": unreachable,
	}}
	for command, next := range map[string]string{
		"status": "start Postgres, or set DATABASE_URL to its address", "poller status": "start Temporal, or set TEMPORAL_ADDRESS to its address",
	} {
		got := c.fails(t, failed, "next: "+next, strings.Fields(command)...)
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
		{name: "refused event", err: &outbox.RefusedError{Why: "x", Err: &pgconn.PgError{Code: "23514"}},
			want: "correct the event, or choose another --event-id, and run it again"},
		{name: "not UTF-8", err: fmt.Errorf("read: %w", &pgconn.PgError{Code: "22021"}), want: "write it in UTF-8"},
		{name: "a large table", err: fmt.Errorf("count: %w", &pgconn.PgError{Code: "57014"}),
			want: "the database took too long: ask for less, for example with --since, and run it again"},
		{name: "Temporal went away", err: fmt.Errorf("x: %w", serviceerror.NewUnavailable("down")),
			want: "start Temporal, or set TEMPORAL_ADDRESS to its address"},
		{name: "another Temporal", err: fmt.Errorf("x: %w", serviceerror.NewNamespaceNotFound("x")),
			want: "set TEMPORAL_NAMESPACE to a namespace of this Temporal"},
		{name: "interrupted", err: fmt.Errorf("x: %w", context.Canceled), want: "it was interrupted; run it again"},
		{name: "too long", err: fmt.Errorf("x: %w", context.DeadlineExceeded), want: "it took too long; see `starter status`, then run it again"},
		{name: "too long for Temporal", err: fmt.Errorf("x: %w", serviceerror.NewDeadlineExceeded("late")),
			want: "it took too long; see `starter status`, then run it again"},
		{name: "unknown error", err: errors.New("x")},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, nextStep(tt.err), tt.name)
	}
}

// A usage error changes nothing, and is found without a server.
func TestUsageErrors(t *testing.T) {
	t.Parallel()

	emit := []string{"emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1"}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{name: "unknown command", args: []string{"bogus"}, want: `unknown command "bogus"`},
		{name: "unknown output", args: []string{"status", "-o", "xml"}, want: `must be table or json`},
		{name: "unknown flag", args: []string{"status", "--nope"}, want: "unknown flag: --nope"},
		{name: "a group alone", args: []string{"poller"}, want: "needs a subcommand"},
		{name: "unknown command of a group", args: []string{"poller", "dance"}, want: `unknown command "dance" for "starter poller"`},
		{name: "mistyped command", args: []string{"delivry", "list", "--status", "FAILED"},
			want: `unknown command "delivry" for "starter"; did you mean "delivery"?`},
		{name: "mistyped command of a group", args: []string{"delivery", "shw", "d1"},
			want: `unknown command "shw" for "starter delivery"; did you mean "show"`},
		{name: "mistyped command with flags", args: []string{"migrate", "donw", "--yes"},
			want: `unknown command "donw" for "starter migrate"; did you mean "down"?`},
		{name: "mistyped flag", args: []string{"delivery", "list", "--statsu", "FAILED"}, want: "unknown flag: --statsu"},
		{name: "mistyped word", args: []string{"delivery", "list", "--channel", "sms,emial"}, want: `"emial" is none of`},
		{name: "mistyped output", args: []string{"status", "-o", "jsn"}, want: "must be table or json"},
		{name: "too many arguments", args: []string{"status", "now"}, want: "now"},
		{name: "no domain", args: []string{"check", "--domain", "mail@example.com"}, want: `"mail@example.com" is no name in DNS`},
		{name: "no event", args: []string{"event", "show"}, want: "accepts 1 arg(s)"},
		{name: "flag missing", args: []string{"emit", "--type", "T"},
			want: `required flag(s) "aggregate-id", "aggregate-type", "payload" not set`},
		{name: "count too small", args: append(emit, "--payload", "{}", "--count", "0"), want: "--count must be from 1 to 1000000"},
		{name: "count too large", args: append(emit, "--payload", "{}", "--count", "1000001"), want: "--count must be from 1 to 1000000"},
		{name: "payload is a list", args: append(emit, "--payload", "[1]"), want: "--payload: must be a JSON object"},
		{name: "payload is missing", args: append(emit, "--payload", "@/nowhere/payload.json"),
			want: "--payload: read: open /nowhere/payload.json"},
		{name: "since is zero", args: []string{"status", "--since", "0s"}, want: `"--since" flag: must be an age such as 90m, 24h or 7d`},
		{name: "an empty event id", args: []string{"delivery", "cancel", "--event", "", "--channel", "SMS"}, want: `"--event" flag: it is empty`},
		{name: "empty statuses", args: []string{"delivery", "retry", "--event", "e", "--status", ""}, want: `"" for "--status" flag`},
		{name: "an empty type", args: []string{"event", "retry", "--all-failed", "--type="}, want: `"--type" flag: it is empty`},
		{name: "two flags are wrong: the first", args: []string{"event", "list", "--since", "x", "--status", "y"},
			want: `"--since" flag: must be an age`},
		{name: "two flags are wrong: the second", args: []string{"event", "list", "--since", "x", "--status", "y"},
			want: `"--status" flag: "y" is none of`},
		{name: "cancel nothing", args: []string{"delivery", "cancel"}, want: "name what to cancel: ids, or filters such as --event"},
		{name: "cancel all", args: []string{"delivery", "cancel", "--yes"}, want: "name what to cancel"},
		{name: "retry nothing", args: []string{"delivery", "retry", "--dry-run"}, want: "name what to retry"},
		{name: "ids and filters", args: []string{"delivery", "retry", "d1", "--channel", "SMS"}, want: "not both"},
		{name: "ids and a place to continue", args: []string{"delivery", "retry", "d1", "--after", "7"}, want: "--after needs filters, not ids"},
		{name: "an invalid place to continue", args: []string{"delivery", "retry", "--event", "e", "--after", "-7"},
			want: "--after must be the number"},
		{name: "cancel failed deliveries", args: []string{"delivery", "cancel", "--status", "FAILED"}, want: "only PENDING can be cancelled"},
		{name: "retry sent deliveries", args: []string{"delivery", "retry", "--status", "SENT"}, want: "sent deliveries need --again"},
		{name: "again without status", args: []string{"delivery", "retry", "--event", "e", "--again", "--yes"},
			want: "needs --status SENT or DELIVERED"},
		{name: "again without yes", args: []string{"delivery", "retry", "--status", "SENT", "--again"}, want: "needs --yes"},
		{name: "send nothing", args: []string{"delivery", "send-now"}, want: "requires at least 1 arg"},
		{name: "reschedule nothing", args: []string{"delivery", "reschedule", "--in", "1h"}, want: "requires at least 1 arg"},
		{name: "reschedule to no time", args: []string{"delivery", "reschedule", "d1"}, want: "--at or by --in"},
		{name: "reschedule to two times", args: []string{"delivery", "reschedule", "d1", "--in", "1h", "--at", "2030-01-01T00:00:00Z"},
			want: "--at or by --in"},
		{name: "reschedule to the past", args: []string{"delivery", "reschedule", "d1", "--at", "2020-01-01T00:00:00Z"}, want: "is past"},
		{name: "reschedule to another age", args: []string{"delivery", "reschedule", "d1", "--in", "366d"}, want: "more than a year ahead"},
		{name: "cancel no event", args: []string{"event", "cancel"}, want: "requires at least 1 arg"},
		{name: "retry no event", args: []string{"event", "retry"}, want: "name what to retry: ids, or filters such as --all-failed"},
		{name: "retry an event and all", args: []string{"event", "retry", "e", "--all-failed"}, want: "not both"},
		{name: "retry an event of a type", args: []string{"event", "retry", "e", "--type", "T"}, want: "need --all-failed"},
		{name: "no limit", args: []string{"delivery", "list", "--limit", "0"}, want: "must be from 1 to 1000"},
		{name: "a limit too large", args: []string{"event", "list", "--limit", "1001"}, want: "must be from 1 to 1000"},
		{name: "unknown status of an event", args: []string{"event", "list", "--status", "sent"}, want: `"--status" flag: "sent" is none of`},
		{name: "a malformed time", args: []string{"event", "list", "--since", "soon"}, want: `"--since" flag: must be an age`},
		{name: "an aggregate without an id", args: []string{"event", "list", "--aggregate", "RESTAURANT"},
			want: `"--aggregate" flag: must be a type and an id`},
		{name: "an argument of a list", args: []string{"event", "list", "evt-1"}, want: "evt-1"},
		{name: "status", args: []string{"delivery", "list", "--status", "failed,lost"},
			want: `"--status" flag: "lost" is none of PENDING, SENT, DELIVERED, FAILED, CANCELLED`},
		{name: "channel", args: []string{"delivery", "list", "--channel", "fax"},
			want: `"--channel" flag: "fax" is none of WEBSOCKET, EMAIL, PUSH, SMS, SLACK, WEBHOOK`},
		{name: "recipient without an id", args: []string{"delivery", "list", "--recipient", "CUSTOMER/"},
			want: `"CUSTOMER/" for "--recipient" flag: must be a user type and an id`},
		{name: "recipient of no type", args: []string{"delivery", "list", "--recipient", "42"},
			want: `"42" for "--recipient" flag: must be a user type and an id`},
		{name: "group without an id", args: []string{"delivery", "list", "--entity", "RESTAURANT"},
			want: `"--entity" flag: must be a type and an id, such as RESTAURANT/5`},
		{name: "since", args: []string{"delivery", "list", "--since", "yesterday"},
			want: `"--since" flag: must be an age such as 90m, 24h or 7d`},
		{name: "an empty period", args: []string{"delivery", "cancel", "--since", "1h", "--until", "1h"}, want: "--since must be before --until"},
		{name: "--since after --until", args: []string{"delivery", "cancel", "--since", "1h", "--until", "2h"},
			want: "--since must be before --until"},
		{name: "why nothing", args: []string{"delivery", "why"}, want: "give a delivery id, or all of --event, --recipient and --channel"},
		{name: "why without a recipient", args: []string{"delivery", "why", "--event", "e", "--channel", "SMS"},
			want: "give a delivery id, or all of"},
		{name: "why a delivery and an event", args: []string{"delivery", "why", "d", "--event", "e"}, want: "not both"},
		{name: "why two", args: []string{"delivery", "why", "d", "e"}, want: "accepts at most 1 arg(s)"},
		{name: "preview of nothing", args: []string{"template", "preview", "--recipient", "CUSTOMER/42", "--channel", "SMS"},
			want: "give --event, or --payload with --type"},
		{name: "preview with two sources of a payload",
			args: []string{"template", "preview", "--recipient", "CUSTOMER/42", "--channel", "SMS", "--event", "e", "--payload", "p"},
			want: "give --event, or --payload"},
		{name: "preview of no type", args: []string{"template", "preview", "--recipient", "CUSTOMER/42", "--channel", "SMS", "--payload", "p"},
			want: "--type and --payload need each other"},
		{name: "preview for nobody", args: []string{"template", "preview", "--event", "e"},
			want: `required flag(s) "channel", "recipient" not set`},
		{name: "purge: no age", args: []string{"purge"}, want: "name an age: --older-than AGE, or --outbox"},
		{name: "purge: a dry run without an age", args: []string{"purge", "--dry-run"}, want: "name an age"},
		{name: "purge: no number", args: []string{"purge", "--older-than", "month"}, want: "must be an age"},
		{name: "purge: too young", args: []string{"purge", "--decisions", "59m", "--yes"}, want: "must be an age of at least 1h"},
		{name: "purge: negative", args: []string{"purge", "--outbox", "-30d"}, want: "must be an age"},
		{name: "purge: an empty variable", args: []string{"purge", "--older-than", "30d", "--processed-events", ""}, want: "must be an age"},
		{name: "purge: an argument", args: []string{"purge", "event_outbox"}, want: "event_outbox"},
		{name: "a Slack URL without a scheme", args: []string{"seed", "--slack-url", "hooks.slack.com"},
			want: "--slack-url: must be http or https with a host"},
	}
	for _, tt := range tests {
		got := shell{}.fails(t, calledWrong, tt.want, tt.args...)
		require.Empty(t, got.out, tt.name)
		require.Regexp(t, "next: see `starter( [a-z-]+)* --help`", got.err)
	}
}

// A command with a wrong HERALD_SECRET would compute hashes that no row has. It fails and changes
// nothing. Commands that need no tables still run.
func TestStarterRefusesAnotherSecret(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.environment["HERALD_SECRET"] = "one secret of an installation, 1"
	c.must(t, "event", "list")
	c.environment["HERALD_SECRET"] = "one secret of an installation, 2"
	got := c.fails(t, failed, "HERALD_SECRET differs from the secret that this database has known since", "event", "list")
	require.Contains(t, got.err, "next: set it in the environment")
	c.must(t, "migrate", "status")

	delete(c.environment, "HERALD_SECRET")
	c.must(t, "event", "list")
}

// hostile is a string that an attacker could put into an event, a receipt or a name.
const hostile = "x\x1b]0;owned\a\nevt-2  FORGED\u009b2J\u202e\u2067"

// Control characters in rows and arguments never reach the terminal.
func TestHostileValuesAreReplaced(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	// As in a schema without these constraints.
	c.exec(t, `
		ALTER TABLE event_outbox
			DROP CONSTRAINT event_outbox_event_type_printable, DROP CONSTRAINT event_outbox_aggregate_type_printable,
			DROP CONSTRAINT event_outbox_aggregate_id_printable, DROP CONSTRAINT event_outbox_correlation_id_printable`)
	for _, sql := range []string{
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, correlation_id, payload, status, error_message)
		 VALUES ('evt-1', $1, $1, $1, $1, '{}', 'FAILED', $1)`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('evt-1', 'CUSTOMER', $1, '{"EMAIL": "SELECTED"}')`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error)
		 VALUES ('evt-1', $1, 'CUSTOMER', $1, 'EMAIL', 'd1', 'title', 'body', 'FAILED', $1)`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, ended_at, outcome, detail) VALUES ('d1', 1, clock_timestamp(), 'REFUSED', $1)`,
	} {
		c.exec(t, sql, hostile)
	}
	for _, args := range [][]string{
		{"event", "list"}, {"event", "show", "evt-1"}, {"delivery", "list"}, {"delivery", "show", "d1"}, {"delivery", "why", "d1"},
		{"event", "show", hostile}, {"delivery", "show", hostile}, {"event", "list", "--status", hostile}, {"migrate", hostile},
	} {
		got := c.run(t, args...)

		require.Contains(t, got.out+got.err, "FORGED", args)
		for line := range strings.Lines(got.out + got.err) {
			require.False(t, strings.HasPrefix(line, "evt-2"), args)
			for _, r := range strings.TrimSuffix(line, "\n") {
				require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q by %v", line, args)
			}
		}
	}
}
