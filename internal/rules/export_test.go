package rules_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/rules"
)

func export(t *testing.T, s *db.DB, dir string) rules.Exported {
	t.Helper()
	done, err := rules.Export(t.Context(), s, dir)
	require.NoError(t, err)
	return done
}

// contents returns the files of a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(content)
	}
	return found
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	return copied
}

// export, apply, export gives the same bytes: into the folder that was applied, and into a new one.
func TestExportAndApplyAreInverse(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, apply(t, s, restaurant, false, order))
	first := t.TempDir()
	export(t, s, first)

	other := postgrestest.New(t)
	require.NoError(t, apply(t, other, first, true, order))
	second := t.TempDir()
	export(t, other, second)
	require.Equal(t, contents(t, first), contents(t, second))
	require.False(t, plan(t, s, second, true).Differs(), "all is in the files")

	written := copyOf(t, restaurant)
	require.NoError(t, apply(t, s, written, true, order))
	done := export(t, s, written)
	require.Empty(t, done.Written)
	require.Empty(t, done.Removed)
	require.Equal(t, contents(t, restaurant), contents(t, written))
}

func TestExportChangesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	dir := copyOf(t, restaurant)
	require.NoError(t, apply(t, s, dir, true, order))
	before := contents(t, dir)
	postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET digest_window = '1 day 02:00:00', roles = NULL WHERE channel_type = 'EMAIL'")
	postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET mandatory = true WHERE channel_type = 'PUSH'")
	postgrestest.Exec(t, s, "DELETE FROM event_type_approval")
	postgrestest.Exec(t, s, "UPDATE notification_template SET body = '<p>Hi</p>' WHERE (event_type, channel) = ('RESERVATION_REQUESTED', 'EMAIL')")
	postgrestest.Exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type, delay, delivery_strategy) VALUES ('RESERVATION_REQUESTED', 'SLACK', '90 s', 'DELAYED')")
	postgrestest.Exec(t, s, "INSERT INTO event_category VALUES ('NEWS', 'no'), ('a/b', 'news')")
	postgrestest.Exec(t, s, "INSERT INTO frequency_cap (channel_type, spacing) VALUES ('SMS', '2 hours')")
	postgrestest.Exec(t, s, "INSERT INTO notification_template VALUES ('NEWS', 'SMS', 'en', '08:30', E'a\n\n b: c \n')")

	require.Equal(t, []string{"NEWS.yaml", "RESERVATION_REQUESTED.yaml", "a%2Fb.yaml", "installation.yaml", "reservation-requested.email.en.html"},
		export(t, s, dir).Written)
	after := contents(t, dir)
	require.False(t, plan(t, s, dir, true).Differs())
	require.Equal(t, []string{
		"-   WEBSOCKET: { mandatory: true, priority: HIGH }", // a changed section is written anew
		"-   SMS: { on_escalation_only: true, tell_actor: true }",
		"-     digest_window: 1 hour 30 minutes",
		"-     roles: [MANAGER]",
		"- approval: { over: 0 }",
		"+   WEBSOCKET: {mandatory: true, priority: HIGH}",
		"+     mandatory: true",
		"+   SMS: {on_escalation_only: true, tell_actor: true}",
		"+     digest_window: 1 day 2 hours",
		"+   SLACK: {delivery_strategy: DELAYED, delay: 1 minute 30 seconds}",
	}, diff(before["RESERVATION_REQUESTED.yaml"], after["RESERVATION_REQUESTED.yaml"]))
	require.Equal(t, "<p>Hi</p>\n", after["reservation-requested.email.en.html"])
	require.Equal(t, "category: \"no\"\n\ntexts:\n  SMS:\n    en:\n      title: \"08:30\"\n      body: \"a\\n\\n b: c \\n\"\n", after["NEWS.yaml"])
}

// diff returns the lines that only one of two texts has.
func diff(before, after string) (lines []string) {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range old {
		if !slices.Contains(now, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// People write all kinds of texts, and YAML must not change them.
func TestExportKeepsEveryText(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	random := rand.New(rand.NewPCG(1, 14))
	parts := []string{"\n", " ", "  ", "\t", "a", "{{.payload.x}}", "#", "# no comment", ": ", "- ", "'", `"`, "|", ">", "yes", "null", "~", "é", "\u2028", "\u0085", "\r\n", "%", "@", "&a", "*", "1", ":"}
	for _, channel := range []string{"SMS", "EMAIL", "*"} {
		for range 40 {
			text := ""
			for range random.IntN(8) {
				text += parts[random.IntN(len(parts))]
			}
			postgrestest.Exec(t, s, "INSERT INTO notification_template VALUES ($1, $2, 'en', $3, $3) ON CONFLICT DO NOTHING",
				[]string{"OFFER", "NEWS.digest", "*", "A B", "x.y"}[random.IntN(5)]+text, channel, text)
		}
	}
	dir := t.TempDir()
	export(t, s, dir)
	for _, c := range plan(t, s, dir, true).Changes {
		require.Equal(t, c.Before, c.After)
	}
	require.Greater(t, len(slices.Collect(maps.Keys(contents(t, dir)))), 40)
}

// A text of several lines replaces a text inside braces, where YAML allows no block.
func TestExportOfLinesIntoBraces(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	dir := folderOf(t, "OFFER.yaml", offer)
	require.NoError(t, apply(t, s, dir, false, order))
	postgrestest.Exec(t, s, "UPDATE notification_template SET body = E'Half\nprice', url = 'https://example.com' WHERE event_type = 'OFFER'")
	postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET roles = '{\"a b\",\"#c\"}' WHERE channel_type = 'PUSH'")
	postgrestest.Exec(t, s, "INSERT INTO event_type_recipients (event_type, entity_type) VALUES ('OFFER', 'ADMIN')")
	export(t, s, dir)
	require.Empty(t, summary(plan(t, s, dir, true).Changes))
	require.Equal(t, `
recipients:
  - {entity_type: ADMIN}
channels: {EMAIL: {delay: 5 minutes, delivery_strategy: DELAYED}, PUSH: {roles: [a b, '#c']}}
category: offers
texts: {"*": {en: {title: Offer, body: "Half\nprice", url: 'https://example.com'}}}
`, contents(t, dir)["OFFER.yaml"])
}
