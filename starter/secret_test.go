package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
)

// An operator replaces the secret: every suppression counts before, meanwhile and after it.
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
	got := c.run(t, "secret", "rekey")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "HERALD_SECRET_PREVIOUS is not set")

	c.environment["HERALD_SECRET"], c.environment["HERALD_SECRET_PREVIOUS"] = next, old
	require.Contains(t, c.must(t, append([]string{"suppression", "list"}, address...)...), "COMPLAINT")
	planned := read[rekeyView](t, c, "secret", "rekey", "--dry-run")
	require.Equal(t, rekeyView{true, postgres.Rekeying{Recipients: 1, Moved: 1, Left: 1}}, planned)
	require.Regexp(t, `left under HERALD_SECRET_PREVIOUS +1\n\nnobody in the directory has the addresses that are left`, c.must(t, "secret", "rekey"))
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
