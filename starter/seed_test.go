package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

// If a customer has the id of an example customer, seed changes their row only if the flags ask
// for it.
func TestSeedOverwritesNobody(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO recipient (user_type, user_id, name, email) VALUES ('CUSTOMER', '42', 'Maria Rossi', 'maria@rossi.test'),
		       ('CUSTOMER', '4242', 'Nobody', NULL);
		INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES ('*', '*', 'en', 'ours', 'ours')`)
	db := c.store(t)
	email := func() string {
		return postgrestest.Get[string](t, db, "SELECT email FROM recipient WHERE user_id = '42'")
	}

	got := c.fails(t, calledWrong,
		"nothing changed: some rows differ from the example: 1 of notification_template, 1 of recipient; to overwrite them add --yes", "seed")
	require.NotContains(t, got.err, "Rossi")
	require.Equal(t, "maria@rossi.test", email())

	require.Contains(t, c.must(t, "seed", "--yes"), "in place")
	require.Equal(t, "chiara@example.com", email())
	require.JSONEq(t, `{"seeded":true}`, c.must(t, "seed", "-o", "json"), "no row differs now")
	require.Contains(t, c.must(t, "audit", "--command", "seed"), "1 of notification_template, 1 of recipient")
}

// seed does not write the example's people through views into an operator's tables.
func TestSeedLeavesViewsUnchanged(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, "ALTER TABLE recipient RENAME TO patient; CREATE VIEW recipient AS SELECT * FROM patient")

	got := c.run(t, "seed", "--yes")

	require.NotZero(t, got.code)
	require.Contains(t, got.err, "recipient is no table")
	require.Zero(t,
		postgrestest.Get[int](t, c.store(t), "SELECT (SELECT count(*) FROM patient) + (SELECT count(*) FROM event_type_recipients)"))
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()

	for _, good := range []string{"http://127.0.0.1:9090", "https://hooks.slack.com"} {
		require.NoError(t, checkBaseURL(good), good)
	}
	for _, bad := range []string{
		"", "hooks.slack.com", "ftp://x", "http://", "http://x/", "http://x/services", "http://x?a=b", "http://me@x", "http://x:y:z",
		"http://\x7f",
	} {
		require.Error(t, checkBaseURL(bad), bad)
	}
}
