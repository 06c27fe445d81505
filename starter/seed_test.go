package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeed(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	require.Contains(t, c.must(t, "seed"), "in place")
	require.JSONEq(t, `{"seeded":true}`, c.must(t, "seed", "-o", "json"))
}

// If a customer has the id of an example customer, seed changes their row only if the flags ask
// for it.
func TestSeedOverwritesNobody(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	db := c.store(t)
	c.exec(t, `
		INSERT INTO recipient (user_type, user_id, name, email) VALUES ('CUSTOMER', '42', 'Maria Rossi', 'maria@rossi.test'), ('CUSTOMER', '4242', 'Nobody', NULL);
		INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES ('*', '*', 'en', 'ours', 'ours')`)
	email := func() (address string) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT email FROM recipient WHERE user_id = '42'").Scan(&address))
		return address
	}

	got := c.run(t, "seed")
	require.Equal(t, calledWrong, got.code)
	require.Contains(t, got.err, "nothing changed: some rows differ from the example: 1 of notification_template, 1 of recipient; to overwrite them add --yes")
	require.NotContains(t, got.err, "Rossi")
	require.Equal(t, "maria@rossi.test", email())

	c.must(t, "seed", "--yes")
	require.Equal(t, "chiara@example.com", email())
	c.must(t, "seed") // no row differs now
	require.Contains(t, c.must(t, "audit", "--command", "seed"), "1 of notification_template, 1 of recipient")
}

// seed does not write the example's people through views into an operator's tables.
func TestSeedSparesADirectoryOfViews(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, "ALTER TABLE recipient RENAME TO patient; CREATE VIEW recipient AS SELECT * FROM patient")

	got := c.run(t, "seed", "--yes")

	require.NotZero(t, got.code)
	require.Contains(t, got.err, "recipient is no table")
	var rows int
	require.NoError(t, c.store(t).Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM patient) + (SELECT count(*) FROM event_type_recipients)").Scan(&rows))
	require.Zero(t, rows)
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()

	for _, good := range []string{"http://127.0.0.1:9090", "https://hooks.slack.com"} {
		require.NoError(t, checkBaseURL(good), good)
	}
	for _, bad := range []string{"", "hooks.slack.com", "ftp://x", "http://", "http://x/", "http://x/services", "http://x?a=b", "http://me@x", "http://x:y:z", "http://\x7f"} {
		require.Error(t, checkBaseURL(bad), bad)
	}
}
