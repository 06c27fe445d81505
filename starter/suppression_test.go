package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/list"
	"herald/internal/person"
)

func withSecret(t *testing.T) shell {
	t.Helper()
	c := withDatabase(t)
	c.environment["HERALD_SECRET"] = "of a test, and 32 bytes long or more"
	return c
}

// An address is added, found and removed in any spelling. No row holds it, and no command prints
// it.
func TestSuppression(t *testing.T) {
	t.Parallel()

	c := withSecret(t)
	mail := []string{"--channel", "email", "--address", "Maria@Example.com"}
	var said []string
	run := func(args ...string) string {
		out := c.must(t, append([]string{"suppression"}, args...)...)
		said = append(said, out)
		return out
	}
	listed := func(args ...string) []list.Suppression {
		var list struct{ Suppressions []list.Suppression }
		require.NoError(t, json.Unmarshal([]byte(run(append([]string{"list", "-o", "json"}, args...)...)), &list))
		return list.Suppressions
	}

	require.Contains(t, run("list"), "nothing is suppressed")
	require.Regexp(t, `(?m)^EMAIL +BOUNCE +\S+ \S+ +[0-9a-f]{12} +moved$`,
		run(append([]string{"add", "--reason", "bounce", "--detail", "moved"}, mail...)...))
	require.Contains(t, run("add", "--reason", "OPT_OUT", "--channel", "EMAIL", "--address", " maria@example.com "),
		"the address gets no more messages")
	require.Contains(t, run(append([]string{"add", "--reason", "BOUNCE"}, mail...)...), "suppressed for this reason already")
	run("add", "--channel", "SMS", "--address", "+41 76 765 43 21", "--reason", "OPT_OUT")

	require.Len(t, listed(), 3)
	require.Equal(t, "SMS", string(listed()[0].Channel), "the latest first")
	require.Len(t, listed("--reason", "OPT_OUT"), 2)
	require.Len(t, listed("--channel", "EMAIL", "--since", "1h"), 2)
	require.Len(t, listed("--channel", "SMS", "--address", "0041767654321"), 1)
	require.Empty(t, listed("--channel", "SMS", "--address", "+41790000000"))
	require.Contains(t, run("list", "--limit", "1"), "… and more")

	preview := c.run(t, append([]string{"suppression", "remove"}, mail...)...)
	require.Equal(t, calledWrong, preview.code)
	require.Regexp(t, `nothing changed: the address is suppressed for OPT_OUT since .+, BOUNCE since .+; repeat with --yes to remove it`,
		preview.err)
	require.Len(t, listed(), 3)
	run(append([]string{"remove", "--reason", "BOUNCE", "--yes"}, mail...)...)
	require.Len(t, listed("--channel", "EMAIL"), 1)
	run(append([]string{"remove", "--yes"}, mail...)...)
	require.Empty(t, listed("--channel", "EMAIL"))
	gone := c.fails(t, failed, "this address has no such suppression", append([]string{"suppression", "remove", "--yes"}, mail...)...)
	require.Contains(t, gone.err, "next: check its spelling; `starter suppression list --channel EMAIL`")

	audit := c.must(t, "audit")
	require.Equal(t, 5, strings.Count(audit, "suppression "), "what changed nothing is not recorded:\n%s", audit)
	require.Regexp(t, `suppression add +EMAIL [0-9a-f]{12} +--channel EMAIL --detail moved`, audit)
	require.Regexp(t, `suppression remove +EMAIL [0-9a-f]{12} +--channel EMAIL --reason BOUNCE`, audit)
	for _, text := range append(said, audit, preview.err, gone.err) {
		require.NotRegexp(t, `(?i)maria|76 ?765`, text)
	}
	delete(c.environment, "HERALD_SECRET")
	require.Contains(t, c.run(t, "delivery", "why", "d1").err,
		"warning: cannot tell whether the address is suppressed: HERALD_SECRET is not set")
}

// An invalid address, or an address that cannot be hashed without HERALD_SECRET, is refused
// before any change. The error does not quote it.
func TestSuppressionRefuses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want string
	}{
		{name: "no channel of addresses", args: []string{"list", "--channel", "push"}, want: `"push" is none of EMAIL, SMS, SLACK, WEBHOOK`},
		{name: "an address without a channel", args: []string{"list", "--address", "maria@example.com"}, want: "--address needs --channel"},
		{name: "no address", args: []string{"add", "--channel", "EMAIL", "--reason", "BOUNCE"}, want: `required flag(s) "address" not set`},
		{name: "no reason", args: []string{"add", "--channel", "EMAIL", "--address", "maria@example.com"},
			want: `required flag(s) "reason" not set`},
		{name: "no mail", args: []string{"add", "--channel", "EMAIL", "--address", "maria", "--reason", "BOUNCE"},
			want: "the address is not valid for EMAIL"},
		{name: "no number", args: []string{"add", "--channel", "SMS", "--address", "076 765 43 21", "--reason", "OPT_OUT"},
			want: "the address is not valid for SMS"},
		{name: "a number of mail", args: []string{"remove", "--channel", "SMS", "--address", "maria@example.com"},
			want: "the address is not valid for SMS"},
		{name: "an unknown reason", args: []string{"add", "--channel", "SMS", "--address", "+41767654321", "--reason", "OPTOUT"},
			want: `"OPTOUT" is none of`},
		{name: "a detail that names it",
			args: []string{"add", "--channel", "EMAIL", "--address", "maria@example.com", "--reason", "BOUNCE", "--detail", "to Maria@example.com"},
			want: "must not contain the address"},
		{name: "a detail that names it in letters", args: []string{
			"add", "--channel", "EMAIL", "--address", "maria@müller.example", "--reason", "BOUNCE", "--detail", "to Maria@Müller.example",
		}, want: "must not contain the address"},
		{name: "a blank address", args: []string{"add", "--channel", "EMAIL", "--address", " ", "--reason", "BOUNCE"},
			want: "the address is not valid for EMAIL"},
		{name: "a zero too many", args: []string{"add", "--channel", "SMS", "--address", "+41 (0)76 765 43 21", "--reason", "OPT_OUT"},
			want: "the address is not valid for SMS"},
		{name: "a long detail", args: []string{
			"add", "--channel", "EMAIL", "--address", "maria@example.com", "--reason", "BOUNCE", "--detail", strings.Repeat("x", 1001),
		}, want: "at most 1000 bytes"},
	}
	for _, tt := range tests {
		got := shell{}.fails(t, calledWrong, tt.want, append([]string{"suppression"}, tt.args...)...)
		require.NotRegexp(t, `(?i)maria|76 ?765`, got.err)
	}
	c := withDatabase(t)
	for _, args := range [][]string{{"add", "--reason", "BOUNCE"}, {"remove", "--yes"}, {"list"}} {
		got := c.fails(t, failed, "HERALD_SECRET is not set",
			append(append([]string{"suppression"}, args...), "--channel", "EMAIL", "--address", "maria@example.com")...)
		require.Contains(t, got.err, "next: set it to the secret of worker and gateway")
	}
	require.Contains(t, c.must(t, "suppression", "list"), "nothing is suppressed", "listing needs no secret")
}

// While an operator replaces the secret, and afterwards, every suppression stays in effect.
func TestSecretRekey(t *testing.T) {
	t.Parallel()

	const old, next = "one secret of an installation, 1", "one secret of an installation, 2"
	c := withDatabase(t)
	c.environment["HERALD_SECRET"] = old
	address := []string{"--channel", "EMAIL", "--address", "maria@example.com"}
	unknown := []string{"--channel", "SMS", "--address", "+41767654321"}
	c.must(t, append([]string{"suppression", "add", "--reason", "COMPLAINT"}, address...)...)
	c.must(t, append([]string{"suppression", "add", "--reason", "OPT_OUT"}, unknown...)...)
	c.exec(t, "INSERT INTO recipient (user_type, user_id, email) VALUES ('CUSTOMER', '1', 'Maria@example.com')")
	c.fails(t, failed, "HERALD_SECRET_PREVIOUS is not set", "secret", "rekey")

	c.environment["HERALD_SECRET"], c.environment["HERALD_SECRET_PREVIOUS"] = next, old
	require.Contains(t, c.must(t, append([]string{"suppression", "list"}, address...)...), "COMPLAINT")
	require.Equal(t, rekeyView{true, person.Rekeying{Recipients: 1, Moved: 1, Remaining: 1}},
		read[rekeyView](t, c, "secret", "rekey", "--dry-run"))
	require.Regexp(t, `left under HERALD_SECRET_PREVIOUS +1\n\nnobody in the directory has the remaining addresses`,
		c.must(t, "secret", "rekey"))
	require.Contains(t, c.must(t, append([]string{"suppression", "list"}, unknown...)...), "OPT_OUT")
	delete(c.environment, "HERALD_SECRET_PREVIOUS")
	require.Contains(t, c.run(t, "event", "list").err, "suppressions of this database are still under the secret of")

	c.environment["HERALD_SECRET_PREVIOUS"] = old
	c.exec(t, "UPDATE recipient SET phone = '+41 76 765 43 21'")
	require.Contains(t, c.must(t, "secret", "rekey"), "the previous secret is retired")
	delete(c.environment, "HERALD_SECRET_PREVIOUS")
	require.Contains(t, c.must(t, append([]string{"suppression", "list"}, address...)...), "COMPLAINT")
	require.Contains(t, c.must(t, append([]string{"suppression", "list"}, unknown...)...), "OPT_OUT")
	require.Regexp(t, `secret rekey +recipient_suppression`, c.must(t, "audit"))
}
