package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is called wrong changes nothing, and needs no server to say so.
func TestUsageErrors(t *testing.T) {
	t.Parallel()

	emit := []string{"emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1"}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"bogus"}, `unknown command "bogus"`},
		{"unknown output", []string{"status", "-o", "xml"}, `must be table or json`},
		{"unknown flag", []string{"status", "--nope"}, "unknown flag: --nope"},
		{"a group alone", []string{"poller"}, "needs a command of its own"},
		{"unknown command of a group", []string{"poller", "dance"}, "dance"},
		{"too many arguments", []string{"status", "now"}, "now"},
		{"no event", []string{"event", "show"}, "accepts 1 arg(s)"},
		{"flag missing", []string{"emit", "--type", "T"}, `required flag(s) "aggregate-id", "aggregate-type", "payload" not set`},
		{"count too small", append(emit, "--payload", "{}", "--count", "0"), "--count must be from 1 to 1000000"},
		{"count too large", append(emit, "--payload", "{}", "--count", "1000001"), "--count must be from 1 to 1000000"},
		{"payload is a list", append(emit, "--payload", "[1]"), "--payload: must be a JSON object"},
		{"payload is missing", append(emit, "--payload", "@/nowhere/payload.json"), "--payload: read: open /nowhere/payload.json"},
		{"since is nothing", []string{"status", "--since", "0s"}, `"--since" flag: must be an age such as 90m, 24h or 7d`},
		{"an event that is empty", []string{"delivery", "cancel", "--event", "", "--channel", "SMS"}, `"--event" flag: it is empty`},
		{"statuses that are empty", []string{"delivery", "retry", "--event", "e", "--status", ""}, `"" for "--status" flag`},
		{"a type that is empty", []string{"event", "retry", "--all-failed", "--type="}, `"--type" flag: it is empty`},
		{"two flags are wrong: the first", []string{"event", "list", "--since", "x", "--status", "y"}, `"--since" flag: must be an age`},
		{"two flags are wrong: the second", []string{"event", "list", "--since", "x", "--status", "y"}, `"--status" flag: "y" is none of`},
		{"cancel nothing", []string{"delivery", "cancel"}, "name what to cancel: ids, or filters such as --event"},
		{"cancel all", []string{"delivery", "cancel", "--yes"}, "name what to cancel"},
		{"retry nothing", []string{"delivery", "retry", "--dry-run"}, "name what to retry"},
		{"ids and filters", []string{"delivery", "retry", "d1", "--channel", "SMS"}, "not both"},
		{"ids and a place to go on", []string{"delivery", "retry", "d1", "--after", "7"}, "--after goes with filters"},
		{"no place to go on", []string{"delivery", "retry", "--event", "e", "--after", "-7"}, "--after must be the number"},
		{"cancel what failed", []string{"delivery", "cancel", "--status", "FAILED"}, "only PENDING can be cancelled"},
		{"retry what was sent", []string{"delivery", "retry", "--status", "SENT"}, "with --again only"},
		{"again without status", []string{"delivery", "retry", "--event", "e", "--again", "--yes"}, "takes --status SENT or DELIVERED"},
		{"again without yes", []string{"delivery", "retry", "--status", "SENT", "--again"}, "takes --yes"},
		{"send nothing", []string{"delivery", "send-now"}, "requires at least 1 arg"},
		{"reschedule nothing", []string{"delivery", "reschedule", "--in", "1h"}, "requires at least 1 arg"},
		{"reschedule to no time", []string{"delivery", "reschedule", "d1"}, "--at or by --in"},
		{"reschedule to two times", []string{"delivery", "reschedule", "d1", "--in", "1h", "--at", "2030-01-01T00:00:00Z"}, "--at or by --in"},
		{"reschedule to the past", []string{"delivery", "reschedule", "d1", "--at", "2020-01-01T00:00:00Z"}, "is past"},
		{"reschedule to another age", []string{"delivery", "reschedule", "d1", "--in", "366d"}, "of a year at most"},
		{"cancel no event", []string{"event", "cancel"}, "requires at least 1 arg"},
		{"retry no event", []string{"event", "retry"}, "name what to retry: ids, or filters such as --all-failed"},
		{"retry an event and all", []string{"event", "retry", "e", "--all-failed"}, "not both"},
		{"retry an event of a type", []string{"event", "retry", "e", "--type", "T"}, "go with --all-failed"},
		{"no limit", []string{"delivery", "list", "--limit", "0"}, "must be from 1 to 1000"},
		{"a limit too large", []string{"event", "list", "--limit", "1001"}, "must be from 1 to 1000"},
		{"unknown status of an event", []string{"event", "list", "--status", "sent"}, `"--status" flag: "sent" is none of`},
		{"a malformed time", []string{"event", "list", "--since", "soon"}, `"--since" flag: must be an age`},
		{"an aggregate without an id", []string{"event", "list", "--aggregate", "RESTAURANT"}, `"--aggregate" flag: must be a type and an id`},
		{"an argument of a list", []string{"event", "list", "evt-1"}, "evt-1"},
		{"status", []string{"delivery", "list", "--status", "failed,lost"}, `"--status" flag: "lost" is none of PENDING, SENT, DELIVERED, FAILED, CANCELLED`},
		{"channel", []string{"delivery", "list", "--channel", "fax"}, `"--channel" flag: "fax" is none of WEBSOCKET, EMAIL, PUSH, SMS, SLACK`},
		{"recipient without an id", []string{"delivery", "list", "--recipient", "CUSTOMER/"}, `"CUSTOMER/" for "--recipient" flag: must be a user type and an id`},
		{"recipient of no type", []string{"delivery", "list", "--recipient", "42"}, "the types are RESTAURANT_USER, CUSTOMER, AGENCY_USER, ADMIN, GUEST"},
		{"group without an id", []string{"delivery", "list", "--entity", "RESTAURANT"}, `"--entity" flag: must be a type and an id, such as RESTAURANT/5`},
		{"since", []string{"delivery", "list", "--since", "yesterday"}, `"--since" flag: must be an age such as 90m, 24h or 7d`},
		{"no time between", []string{"delivery", "cancel", "--since", "1h", "--until", "1h"}, "--since must be before --until"},
		{"the other way round", []string{"delivery", "cancel", "--since", "1h", "--until", "2h"}, "--since must be before --until"},
		{"why nothing", []string{"delivery", "why"}, "give a delivery id, or all of --event, --recipient and --channel"},
		{"why a part", []string{"delivery", "why", "--event", "e", "--channel", "SMS"}, "give a delivery id, or all of"},
		{"why a delivery and an event", []string{"delivery", "why", "d", "--event", "e"}, "not both"},
		{"why two", []string{"delivery", "why", "d", "e"}, "accepts at most 1 arg(s)"},
		{"purge: no age", []string{"purge"}, "name an age: --older-than AGE, or --outbox"},
		{"purge: only to look", []string{"purge", "--dry-run"}, "name an age"},
		{"purge: no number", []string{"purge", "--older-than", "month"}, "must be an age"},
		{"purge: too young", []string{"purge", "--decisions", "59m", "--yes"}, "must be an age of at least 1h"},
		{"purge: negative", []string{"purge", "--outbox", "-30d"}, "must be an age"},
		{"purge: an empty variable", []string{"purge", "--older-than", "30d", "--processed-events", ""}, "must be an age"},
		{"purge: an argument", []string{"purge", "event_outbox"}, "event_outbox"},
		{"no Slack", []string{"seed", "--slack-url", "hooks.slack.com"}, "--slack-url: must be http or https with a host"},
		{"no sandbox", []string{"demo", "--sandbox-url", "ftp://x"}, "--sandbox-url: must be http or https with a host"},
		{"no ledger", []string{"sandbox"}, `required flag(s) "ledger" not set`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got := terminal{}.run(t, tt.args...)

			require.Equal(t, calledWrong, got.code)
			require.Empty(t, got.out)
			require.Contains(t, got.err, tt.want)
			require.Regexp(t, "next: see `starter( [a-z-]+)* --help`", got.err)
		})
	}
}
