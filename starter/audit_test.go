package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/list"
)

func TestActor(t *testing.T) {
	t.Parallel()

	host := must(os.Hostname())(t)
	for _, environment := range []map[string]string{nil, {"HERALD_ACTOR": ""}} {
		require.Regexp(t, "^.+@"+host+"$", must((&app{environment: environment}).actor())(t))
	}
	for name, good := range map[string]bool{
		"ada@ops": true, "Ada Brooks, 東京": true, strings.Repeat("x", 100): true,
		strings.Repeat("x", 101): false, " ": false, "ada\x1b[2J": false, "ada\nroot": false, "\u202eada": false, "\xff": false,
	} {
		got, err := (&app{environment: map[string]string{"HERALD_ACTOR": name}}).actor()
		require.Equal(t, good, err == nil, "%q", name)
		require.Equal(t, good, got == name, "%q", name)
	}
}

// Commands that change something leave a row, also a migration from a schema without the table.
// Commands that only read leave no row.
func TestAudit(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.environment["HERALD_ACTOR"] = "ada@ops"
	for _, args := range [][]string{
		{"seed"},
		{"emit", "--event-id", "evt-1", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", `{"secret":"of Maria"}`},
		{"event", "list"}, {"event", "show", "evt-1"}, {"status"}, {"migrate", "status"}, {"migrate", "up"},
		{"purge", "--older-than", "30d", "--dry-run"},
		{"purge", "--older-than", "30d", "--yes"},
	} {
		c.must(t, args...)
	}
	read := func(args ...string) []list.Action {
		list := read[struct{ Actions []list.Action }](t, c, append([]string{"audit"}, args...)...)
		for i := range list.Actions {
			require.False(t, list.Actions[i].At.IsZero())
			require.NotEmpty(t, list.Actions[i].DBUser)
			list.Actions[i].ID, list.Actions[i].At, list.Actions[i].DBUser = 0, list.Actions[0].At, ""
		}
		return list.Actions
	}
	got := read()
	require.Len(t, got, 2, "nothing was old enough to be purged")
	require.Equal(t, []list.Action{
		{At: got[0].At, Actor: "ada@ops", Command: "emit", Target: "evt-1", Detail: "T of ADMIN/1, 1"},
		{At: got[0].At, Actor: "ada@ops", Command: "seed", Target: "the example", Detail: "nothing overwritten"},
	}, got)
	require.Len(t, read("--target", "evt-1"), 1)
	require.Len(t, read("--command", "seed", "--actor", "ada@ops", "--since", "1h"), 1)
	require.Empty(t, read("--actor", "eve"))
	require.Regexp(t, `(?m)^WHAT OPERATORS DID\nAT +ACTOR +COMMAND +DETAIL\n.+ada@ops +emit +T of ADMIN/1, 1$`,
		c.must(t, "event", "show", "evt-1"))
	require.Contains(t, c.must(t, "audit", "--limit", "1"), "… and more")

	db := c.store(t)
	for there := true; there; there = postgrestest.Get[bool](t, db, "SELECT to_regclass('operator_action') IS NOT NULL") {
		c.must(t, "migrate", "down", "--yes") // down to a schema without operator_action
	}
	c.must(t, "migrate", "up")
	require.Equal(t, "0008_operators.sql", read("--target", "0008_operators.sql")[0].Target)
}

// A delivery's audit also has the actions on its event, with their reasons.
func TestAuditOfADelivery(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	emit := []string{
		"emit", "--event-id", "evt-1", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", "{}", "--reason",
		"asked on the phone",
	}
	c.must(t, emit...)
	c.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status)
		VALUES ('evt-1', 'T', 'ADMIN', '1', 'EMAIL', 'evt-1-admin1-EMAIL', 'x', 'x', 'CANCELLED')`)
	c.exec(t,
		"INSERT INTO operator_action (actor, command, target, detail) VALUES ('ada', 'event cancel', 'evt-1', '--reason wrong restaurant')")

	require.Regexp(t, `emit +evt-1 +T of ADMIN/1, 1 --reason asked on the phone`, c.must(t, "audit", "--target", "evt-1"))
	require.Regexp(t, `ada +event cancel +evt-1 +--reason wrong restaurant`, c.must(t, "audit", "--target", "evt-1-admin1-EMAIL"))
	shown := c.must(t, "delivery", "show", "evt-1-admin1-EMAIL")
	require.Regexp(t, `ada +event cancel +--reason wrong restaurant`, shown)
	require.NotContains(t, shown, "Temporal does not know it")
}

// Every command in changing exists, and has --reason.
func TestChangesTakeAReason(t *testing.T) {
	t.Parallel()

	root := (&app{}).command()
	for _, path := range changing {
		cmd, rest, err := root.Find(strings.Fields(path))
		require.NoError(t, err, path)
		require.Empty(t, rest, path)
		require.NotNil(t, cmd.Flags().Lookup("reason"), path)
	}
}

// If an action cannot be recorded, the command changes nothing.
func TestEveryChangeIsRecorded(t *testing.T) {
	t.Parallel()

	c, db := withOldEvents(t, 3)
	before := rowsOf(t, db)
	c.exec(t, "ALTER TABLE operator_action ADD CONSTRAINT nobody CHECK (false)")
	for _, args := range [][]string{
		{"purge", "--older-than", "30d", "--yes"}, {"seed"}, {"migrate", "down", "--yes"},
		{"emit", "--type", "T", "--aggregate-type", "ADMIN", "--aggregate-id", "1", "--payload", "{}"},
	} {
		c.fails(t, failed, "record who does it", args...)
	}
	require.Equal(t, before, rowsOf(t, db))
	require.NotContains(t, c.must(t, "migrate", "status"), "missing")

	c.environment["HERALD_ACTOR"] = "x\n"
	require.Contains(t, c.run(t, "purge", "--older-than", "30d", "--yes").err, "HERALD_ACTOR must be a name")
}

// Herald keeps operators' actions and changes of preferences forever, unless operators purge them with
// their flags.
func TestPurgeRecords(t *testing.T) {
	t.Parallel()

	c, _ := withOldEvents(t, 1)
	c.exec(t, `
		INSERT INTO operator_action (actor, command, target, at) VALUES ('ada', 'x', 'y', now() - interval '400 days');
		INSERT INTO preference_change (user_type, user_id, setting, new_value, at)
		       VALUES ('CUSTOMER', '1', 'TIMEZONE', 'UTC', now() - interval '400 days')`)
	c.must(t, "purge", "--older-than", "30d", "--yes")
	for flag, table := range map[string]string{"--actions": "operator_action", "--preference-changes": "preference_change"} {
		require.Regexp(t, `(?m)^`+table+` +365d .+ 1 +1$`, c.must(t, "purge", flag, "365d", "--yes"))
	}
	require.NotContains(t, c.must(t, "audit", "--actor", "ada"), "ada")
}
